"""Kept: a bounded table of what is asked for again and again, and what came once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

CAPACITY = 1024
ONCE = 1024  # keys of which it is known that they came once


class Seen:
    """The hashes of the last keys that came: of ONCE / 2 of them for certain, at most of ONCE."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: set[int] = set()
        self._before: set[int] = set()

    def came_before(self, key: Hashable) -> bool:
        """This key came before, as far as that is remembered; from now on it did."""
        mark = hash(key)
        if mark in self._now:
            return True
        # what comes again stays
        came = mark in self._before
        if len(self._now) >= ONCE // 2:
            self._before, self._now = self._now, set()
        self._now.add(mark)
        return came

    def clear(self) -> None:
        self._now, self._before = set(), set()


class Kept(Generic[T]):
    """Key -> value for keys that came twice; a full table starts again.

    A loop whose every step has other shapes, or another attribute, so leaves nothing behind but the
    hashes of its last keys. Losing an entry, or counting one too often when two threads offer at
    once, costs time only. A value may count for several.
    """

    __slots__ = ("_capacity", "_count", "_seen", "made")

    def __init__(self, capacity: int = CAPACITY) -> None:
        # callers look here first
        self.made: dict[Hashable, T] = {}
        self._capacity = capacity
        self._count = 0
        self._seen = Seen()

    def offer(self, key: Hashable, value: T, count: int = 1) -> None:
        """Keeps `value` if its key was offered before, as far as that is remembered."""
        if not self._seen.came_before(key):
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
        self._seen.clear()
