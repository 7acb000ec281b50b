"""Kept: a bounded cache of values whose keys came at least twice."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

CAPACITY = 1024
ONCE = 1024  # most keys that are remembered as having come once


class Seen:
    """Hashes of the latest keys: at least the last ONCE / 2 of them, at most ONCE."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: set[int] = set()
        self._before: set[int] = set()

    def came_before(self, key: Hashable) -> bool:
        """Whether this key is remembered from an earlier call; it is from now on."""
        mark = hash(key)
        if mark in self._now:
            return True
        # keys that come again stay
        came = mark in self._before
        if len(self._now) >= ONCE // 2:
            self._before, self._now = self._now, set()
        self._now.add(mark)
        return came

    def clear(self) -> None:
        self._now, self._before = set(), set()


class Kept(Generic[T]):
    """Key -> value for keys that came twice; emptied when full.

    So a loop with other shapes or attributes in every step leaves nothing but the hashes of its
    last keys. A lost entry, or one that is counted too often because two threads offer it at once,
    costs time only. A value may count as several.
    """

    __slots__ = ("_capacity", "_count", "_seen", "made")

    def __init__(self, capacity: int = CAPACITY) -> None:
        # callers look up here first
        self.made: dict[Hashable, T] = {}
        self._capacity = capacity
        self._count = 0
        self._seen = Seen()

    def offer(self, key: Hashable, value: T, count: int = 1) -> None:
        """Keeps `value` if its key is remembered from an earlier offer."""
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
