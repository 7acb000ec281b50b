"""Workspace: arenas and the run lock that executors share which never run at the same time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from ...errors import MXNetError
from ...fork import renew_in_child
from ...storage.handle import Handle
from ..program.arrays import PlanArrays

_numbers = itertools.count(1)


class Workspace:
    """The memory of one executor's programs, or of several executors bound with `shared_exec`.

    Runs are serialised by `lock`. `last` is the number of the executor that ran last: what
    another one's forward left for its backward is overwritten then.
    """

    def __init__(self) -> None:
        # RLock is a function in the eyes of type checkers
        self.lock: Any = threading.RLock()
        self.last = 0
        # one of the executors computes gradients
        self.has_backward = False
        self._states: WeakSet[PlanArrays] = WeakSet()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        # whatever it says of itself: a thread that was given the lock notes so a little later
        self.lock = threading.RLock()

    def refuse_own_run(self) -> None:
        """MXNetError instead of a run inside a run of the same thread."""
        if self.lock._is_owned():
            raise MXNetError("this executor is running in this very thread, or one that it shares "
                             "memory with: a monitor, an operator or a signal handler can not run "
                             "it (`clone` makes one with memory of its own)")

    def add(self, state: PlanArrays) -> None:
        """From now on others may use this state's arena."""
        self._states.add(state)

    def arena(self) -> Handle | None:
        """The largest arena there is."""
        arenas: Sequence[Handle] = [s.arena for s in self._states if s.arena is not None]
        return max(arenas, key=lambda arena: arena.nbytes, default=None)


def new_number() -> int:
    """A number that no other executor has."""
    return next(_numbers)
