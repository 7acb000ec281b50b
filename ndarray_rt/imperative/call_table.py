"""CallTable: the recorded imperative calls of one thread, by their arguments. Runs nothing.

native/replay/fast_call.c makes the keys and looks them up.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from weakref import ref

from .. import config
from .kept import Seen

CAPACITY = 1024
MOST_BYTES = 64 << 20  # bound on the primitives that calls hold
# in place of a call: calls with this key also differ by their numbers
KEYED = True


class CallTable(dict[Hashable, Any]):
    """Key -> a recorded call, None for one that can not be recorded, or KEYED.

    Emptied when full, and when the switches have changed.
    """

    __slots__ = ("__weakref__", "_nbytes", "_seen", "epoch")

    def __init__(self) -> None:
        super().__init__()
        self.renew()

    def renew(self) -> None:
        """Empties the table."""
        self.clear()
        self.epoch = config.epoch
        self._nbytes = 0
        self._seen = Seen()

    def came_before(self, key: Hashable) -> bool:
        """Whether this key is remembered from an earlier call; it is from now on."""
        return self._seen.came_before(key)

    def offer(self, key: Hashable, call: Any, nbytes: int = 0) -> Forget:
        """Keeps a call with the size of its primitives; returns what forgets it."""
        if len(self) >= CAPACITY or self._nbytes + nbytes > MOST_BYTES:
            self.clear()
            self._nbytes = 0
        self[key] = call
        # forgotten calls count until the table is emptied
        self._nbytes += nbytes
        return Forget(self, key)


class Forget:
    """Removes one call from a table, if that still lives."""

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
