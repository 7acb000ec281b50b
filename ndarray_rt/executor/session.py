"""Session: what executors reshaped from one another share. Runs nothing."""

from __future__ import annotations

import itertools
import weakref

from ..op.prim_cache import CACHE

_numbers = itertools.count(1)


class Session:
    """What the primitives of one executor, and of those reshaped from it, are kept under.

    They leave the store when the last of these executors is gone.
    """

    __slots__ = ("__weakref__", "key")

    def __init__(self) -> None:
        self.key = ("executor", next(_numbers))
        weakref.finalize(self, CACHE.release, self.key)

    def clear(self) -> None:
        """Forgets the primitives of these executors; the next run makes them again."""
        CACHE.clear(self.key)
