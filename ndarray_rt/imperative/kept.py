"""Kept: a bounded table of what is asked for again and again."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

CAPACITY = 1024
ONCE = 1024  # keys of which it is known that they came once


class Kept(Generic[T]):
    """Key -> value for keys that came twice; a full table starts again.

    A loop whose every step has other shapes, or another attribute, so leaves nothing behind but the
    hashes of its last keys. Losing an entry, or counting one too often when two threads offer at
    once, costs time only. A value may count for several.
    """

    __slots__ = ("_capacity", "_count", "_once", "made")

    def __init__(self, capacity: int = CAPACITY) -> None:
        # callers look here first
        self.made: dict[Hashable, T] = {}
        self._capacity = capacity
        self._count = 0
        self._once = array("q", bytes(8 * ONCE))

    def offer(self, key: Hashable, value: T, count: int = 1) -> None:
        """Keeps `value` if its key was offered before, as far as that is remembered."""
        mark = hash(key)
        if self._once[mark % ONCE] != mark:
            self._once[mark % ONCE] = mark
            return
        if count > self._capacity:
            return
        if self._count + count > self._capacity:
            self.made.clear()
            self._count = 0
        self.made[key] = value
        self._count += count

    def clear(self) -> None:
        self.made.clear()
        self._count = 0
        self._once = array("q", bytes(8 * ONCE))
