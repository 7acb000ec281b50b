"""CallTable: what one thread's imperative calls did, by what they were given. Runs nothing.

Looked at by native/replay/fast_call.c, which makes the keys too.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from weakref import ref

from .. import config
from .kept import Seen

CAPACITY = 1024
MOST_BYTES = 64 << 20  # of the primitives that calls hold
# in place of a call: those of this key are told apart by the numbers that they are given, too
KEYED = True


class CallTable(dict[Hashable, Any]):
    """Key -> a recorded call, None for one that can not be recorded, or KEYED.

    A full table starts again, and so does one of another time of the switches.
    """

    __slots__ = ("__weakref__", "_nbytes", "_seen", "epoch")

    def __init__(self) -> None:
        super().__init__()
        self.renew()

    def renew(self) -> None:
        """Forgets everything."""
        self.clear()
        self.epoch = config.epoch
        self._nbytes = 0
        self._seen = Seen()

    def came_before(self, key: Hashable) -> bool:
        """This key was asked for before, as far as that is remembered; from now on it was."""
        return self._seen.came_before(key)

    def offer(self, key: Hashable, call: Any, nbytes: int = 0) -> Forget:
        """Keeps a call, whose primitives have so many bytes; gives what forgets it."""
        if len(self) >= CAPACITY or self._nbytes + nbytes > MOST_BYTES:
            self.clear()
            self._nbytes = 0
        self[key] = call
        # what is forgotten counts until the table starts again
        self._nbytes += nbytes
        return Forget(self, key)


class Forget:
    """Takes one call out of a table, if that still lives."""

    __slots__ = ("_key", "_table")

    def __init__(self, table: CallTable, key: Hashable) -> None:
        self._table = ref(table)
        self._key = key

    @property
    def is_alive(self) -> bool:
        """There is something to forget."""
        table = self._table()
        return table is not None and self._key in table

    def __call__(self) -> None:
        table = self._table()
        if table is not None:
            table.pop(self._key, None)
