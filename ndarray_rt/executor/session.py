"""Session: the cache key that executors reshaped from one another share. Runs nothing."""

from __future__ import annotations

import itertools
import weakref

from ..op.prim_cache import CACHE

_numbers = itertools.count(1)


class Session:
    """The key under which the primitives of an executor, and of those reshaped from it, are cached.

    They are dropped with the last of these executors.
    """

    __slots__ = ("__weakref__", "key")

    def __init__(self) -> None:
        self.key = ("executor", next(_numbers))
        weakref.finalize(self, CACHE.release, self.key)

    def clear(self) -> None:
        """Drops the primitives of these executors; the next run makes them again."""
        CACHE.clear(self.key)
