"""Workspace: the arenas and the run lock shared by executors that never run at the same time."""

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

    `lock` serialises runs. `last` is the number of the executor that ran last: a run of another one
    overwrites what forward left for backward.
    """

    def __init__(self) -> None:
        # RLock is a function for type checkers
        self.lock: Any = threading.RLock()
        self.last = 0
        # one of the executors computes gradients
        self.has_backward = False
        self._states: WeakSet[PlanArrays] = WeakSet()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """Called in a forked child."""
        # a thread that was just given the lock may not have recorded that yet: always renewed
        self.lock = threading.RLock()

    def refuse_own_run(self) -> None:
        """MXNetError instead of a nested run in the same thread."""
        if self.lock._is_owned():
            raise MXNetError("this executor is running in this very thread, or one that it shares "
                             "memory with: a monitor, an operator or a signal handler can not run "
                             "it (`clone` makes one with memory of its own)")

    def add(self, state: PlanArrays) -> None:
        """Lets others use the arena of these arrays from now on."""
        self._states.add(state)

    def arena(self) -> Handle | None:
        """The largest arena so far."""
        arenas: Sequence[Handle] = [s.arena for s in self._states if s.arena is not None]
        return max(arenas, key=lambda arena: arena.nbytes, default=None)


def new_number() -> int:
    """A number that no other executor has."""
    return next(_numbers)
