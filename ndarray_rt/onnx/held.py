"""How much memory constants take that a model describes and plans keep."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputMismatch
from .graph import Array
from .values import MAX_BYTES


def owner_of(array: Array) -> Array:
    """The array whose memory it is."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def need_room(count: int, what: str = "constants that are computed") -> None:
    """InputMismatch where what a file describes has, all together, more bytes than allowed."""
    if count > MAX_BYTES.get():
        raise InputMismatch(f"with it, {what} have {count} bytes; allowed are "
                            f"{MAX_BYTES.get()} (max_bytes)")


class Held:
    """Bytes of computed arrays, for as long as anybody has them."""

    def __init__(self) -> None:
        self.bytes = 0
        self._alive: dict[int, weakref.ref[Array]] = {}
        # of arrays that died, at any time and in any thread: which, and how many bytes
        self._gone: deque[tuple[int, weakref.ref[Array], int]] = deque()

    def add(self, made: Sequence[Any], given: Sequence[Any]) -> None:
        """Counts what is no view of something that is there already; InputMismatch where there
        are more bytes than `max_bytes` allows."""
        while self._gone:
            key, ref, size = self._gone.popleft()
            self.bytes -= size
            if self._alive.get(key) is ref:
                del self._alive[key]
        own = {id(owner_of(array)) for array in given if array is not None}
        for value in made:
            if isinstance(value, np.ndarray):
                self._add_one(owner_of(value), own)
        need_room(self.bytes)

    def _add_one(self, owner: Array, given: set[int]) -> None:
        key, size, gone = id(owner), owner.nbytes, self._gone
        known = self._alive.get(key)
        if key in given or (known is not None and known() is owner):
            return
        self._alive[key] = weakref.ref(owner, lambda ref: gone.append((key, ref, size)))
        self.bytes += size
