"""The store of primitives: session -> input-shape group -> signature. Makes none itself."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from .. import config

T = TypeVar("T")
Group = dict[Hashable, Any]


class PrimCache:
    """Bounded by shape groups: over the bound, the least recently used group leaves as a whole.

    Thread-safe. What two threads build at once for one key is built twice and kept once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: OrderedDict[tuple[Hashable, Hashable], Group] = OrderedDict()
        self._released: deque[Hashable] = deque()
        self.hits = self.misses = self.evictions = 0

    def group(self, session: Hashable, shapes: Hashable) -> Group:
        """The signatures of one input-shape group, made when new, now the most recently used."""
        key = (session, shapes)
        if self._released:
            self.clear_released()
        with self._lock:
            found = self._groups.get(key)
            if found is None:
                found = self._groups[key] = {}
                while len(self._groups) > max(1, config.NDRT_CACHE_SHAPES):
                    self._groups.popitem(last=False)
                    self.evictions += 1
            else:
                self._groups.move_to_end(key)
            return found

    def find(self, group: Group, sign: Hashable, build: Callable[[], T]) -> T:
        """What `build` made for this signature in a group, now or earlier."""
        found = group.get(sign)
        if found is None:
            self.misses += 1
            found = group.setdefault(sign, build())
        else:
            self.hits += 1
        return found  # type: ignore[no-any-return]

    def clear(self, session: Hashable | None = None) -> None:
        """Drops one session, or everything."""
        with self._lock:
            for key in [k for k in self._groups if session is None or k[0] == session]:
                del self._groups[key]

    def release(self, session: Hashable) -> None:
        """Drops a session at the next use of the store; takes no lock, for finalizers."""
        self._released.append(session)

    def clear_released(self) -> None:
        """Drops the sessions that were released."""
        while self._released:
            self.clear(self._released.popleft())

    def stats(self) -> dict[str, int]:
        """Counters and the numbers of sessions, groups and entries held now."""
        with self._lock:
            groups = list(self._groups.items())
        return {"hits": self.hits, "misses": self.misses, "evictions": self.evictions,
                "sessions": len({key[0] for key, _ in groups}), "groups": len(groups),
                "entries": sum(len(group) for _, group in groups)}

    def reset_counters(self) -> None:
        self.hits = self.misses = self.evictions = 0


CACHE = PrimCache()
