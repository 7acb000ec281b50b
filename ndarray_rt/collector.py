"""Python's collector of garbage rests while a graph is built: what is made then stays.

It would look at all of it again and again: a third to a half of the time of a large graph.
"""

from __future__ import annotations

import gc
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
    """Which blocks of all threads are under way, and which of them switched the collector off.

    There is no lock: an interrupt could come between its release and the line before. Two threads
    that begin or end at once may let the collector run in a block, and never leave it off.
    A collector that was switched off before stays so, and one that somebody switches on meanwhile
    is not touched again.
    """

    def __init__(self) -> None:
        self._blocks: set[int] = set()
        self._owner: int | None = None
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child, the blocks of other threads are not there any more."""
        if self._owner is not None:
            gc.enable()
        self._blocks.clear()
        self._owner = None

    def begin(self, block: _Block) -> None:
        self._blocks.add(id(block))
        if len(self._blocks) == 1 and gc.isenabled():
            self._owner = id(block)
            gc.disable()

    def end(self, block: _Block) -> None:
        # it is not there a second time, nor where it forked this process
        self._blocks.discard(id(block))
        owner = self._owner
        if self._blocks or owner is None:
            return
        gc.enable()
        # another thread's block may have switched it off since
        if self._owner == owner:
            self._owner = None


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
