"""Python's collector of garbage rests while a graph is built: what is made then stays.

It would look at all of it again and again: a third to a half of the time of a large graph.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .fork import renew_in_child


class _Block:
    """A block that is under way. However it ends, this is gone then: an interrupt may come between
    any two lines of `resting_collector`, too."""

    __slots__ = ()

    def __del__(self) -> None:
        _rest.end(self)


class _Rest:
    """Which blocks of all threads are under way, and whether the last one ends the rest.

    A collector that was switched off before stays so, and one that somebody switches on meanwhile
    is not touched again.
    """

    def __init__(self) -> None:
        self._renew_locks()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child, the blocks of other threads are not there any more."""
        # a block may go anywhere, also where this thread has the lock
        self._lock = threading.RLock()
        if getattr(self, "_is_ours", False):
            gc.enable()
        self._blocks: set[int] = set()
        self._is_ours = False

    def begin(self, block: _Block) -> None:
        with self._lock:
            self._blocks.add(id(block))
            if len(self._blocks) == 1 and gc.isenabled():
                self._is_ours = True
                gc.disable()

    def end(self, block: _Block) -> None:
        with self._lock:
            # it is not there a second time, nor where it forked this process
            self._blocks.discard(id(block))
            if not self._blocks and self._is_ours:
                gc.enable()  # first: the block that goes comes here again
                self._is_ours = False


_rest = _Rest()


@contextmanager
def resting_collector() -> Iterator[None]:
    """In the block, or the function that it decorates, no garbage is collected in any thread."""
    block = _Block()
    try:
        _rest.begin(block)
        yield
    finally:
        _rest.end(block)
