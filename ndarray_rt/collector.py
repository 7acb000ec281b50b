"""Python's collector of garbage rests while a graph is built: what is made then stays.

It would look at all of it again and again: a third to a half of the time of a large graph.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .fork import renew_in_child


class _Rest:
    """How many blocks of all threads are under way, and whether the last one ends the rest.

    A collector that was switched off before stays so, and one that somebody switches on meanwhile
    is not touched again.
    """

    def __init__(self) -> None:
        self._renew_locks()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child, the blocks of other threads are not there any more."""
        self._lock = threading.Lock()
        if getattr(self, "_is_ours", False):
            gc.enable()
        self._blocks = 0
        self._is_ours = False

    def begin(self) -> None:
        with self._lock:
            self._blocks += 1
            if self._blocks == 1 and gc.isenabled():
                self._is_ours = True
                gc.disable()

    def end(self) -> None:
        with self._lock:
            # none are left where a block forked this process
            self._blocks = max(0, self._blocks - 1)
            if not self._blocks and self._is_ours:
                self._is_ours = False
                gc.enable()


_rest = _Rest()


@contextmanager
def resting_collector() -> Iterator[None]:
    """In the block, or the function that it decorates, no garbage is collected in any thread."""
    _rest.begin()
    try:
        yield
    finally:
        _rest.end()
