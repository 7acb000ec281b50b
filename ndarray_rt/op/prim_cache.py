"""The store of primitives: session -> input-shape group -> signature. Makes none itself."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from .. import config
from ..fork import renew_in_child

T = TypeVar("T")

IMPERATIVE = "imperative"  # the session that all threads' imperative calls share


class Tally:
    """What happened to the entries of one session, or of those that ended."""

    __slots__ = ("evictions", "hits", "misses")

    def __init__(self) -> None:
        self.hits = self.misses = self.evictions = 0

    def add(self, more: Tally) -> None:
        self.hits += more.hits
        self.misses += more.misses
        self.evictions += more.evictions


class Group(dict[Hashable, Any]):
    """The entries of one input-shape group, by signature, and the tally of its session.

    `dependents` are called when the group leaves the store.
    """

    __slots__ = ("dependents", "tally")

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally
        self.dependents: list[Callable[[], object]] = []

    def leave(self) -> None:
        """Is no longer kept: tells who relies on its entries."""
        dependents, self.dependents = self.dependents, []
        for tell in dependents:
            tell()


Groups = OrderedDict[tuple[Hashable, Hashable], Group]


class PrimCache:
    """Bounded by shape groups: over the bound, the least recently used group leaves as a whole.

    What batches of all sizes share is in groups of its own, under the same bound. Thread-safe. What
    two threads build at once for one key is built twice and kept once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: Groups = OrderedDict()
        self._shared: Groups = OrderedDict()
        self._tallies: dict[Hashable, Tally] = {}
        self._ended = Tally()
        self._released: deque[Hashable] = deque()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.Lock()

    def group(self, session: Hashable, shapes: Hashable, any_batch: bool = False) -> Group:
        """The signatures of one input-shape group, made when new, now the most recently used.

        With `any_batch` the shapes are those of samples, and batches of all sizes share the group.
        """
        key, groups = (session, shapes), self._shared if any_batch else self._groups
        if self._released:
            self.clear_released()
        with self._lock:
            found = groups.get(key)
            if found is None:
                tally = self._tallies.get(session)
                if tally is None:
                    tally = self._tallies[session] = Tally()
                found = groups[key] = Group(tally)
                while len(groups) > max(1, config.NDRT_CACHE_SHAPES):
                    _, evicted = groups.popitem(last=False)
                    evicted.tally.evictions += 1
                    evicted.leave()
            else:
                groups.move_to_end(key)
            return found

    def find(self, group: Group, sign: Hashable, build: Callable[[], T]) -> T:
        """What `build` made for this signature in a group, now or earlier."""
        found = group.get(sign)
        if found is None:
            group.tally.misses += 1
            found = group.setdefault(sign, build())
        else:
            group.tally.hits += 1
        return found  # type: ignore[no-any-return]

    def clear(self, session: Hashable | None = None) -> None:
        """Drops one session, or everything."""
        with self._lock:
            for groups in (self._groups, self._shared):
                for key in [k for k in groups if session is None or k[0] == session]:
                    # emptied too: whoever ran last may still hold the group
                    group = groups.pop(key)
                    group.clear()
                    group.leave()

    def release(self, session: Hashable) -> None:
        """Drops a session at the next use of the store; takes no lock, for finalizers."""
        self._released.append(session)

    def clear_released(self) -> None:
        """Drops the sessions that were released; what they counted stays in the totals."""
        while self._released:
            session = self._released.popleft()
            self.clear(session)
            with self._lock:
                self._ended.add(self._tallies.pop(session, Tally()))

    def stats(self, session: Hashable | None = None) -> dict[str, int]:
        """Counters and the numbers of sessions, groups and entries held now; of one, or of all."""
        self.clear_released()
        with self._lock:
            groups = [(key[0], len(group)) for kept in (self._groups, self._shared)
                      for key, group in kept.items() if session is None or key[0] == session]
            total = Tally()
            if session is None:
                total.add(self._ended)
            for owner, tally in self._tallies.items():
                if session is None or owner == session:
                    total.add(tally)
        return {"hits": total.hits, "misses": total.misses, "evictions": total.evictions,
                "sessions": len({owner for owner, _ in groups}), "groups": len(groups),
                "entries": sum(size for _, size in groups)}

    def reset_counters(self) -> None:
        """Lets all counters start again from 0."""
        with self._lock:
            for tally in (self._ended, *self._tallies.values()):
                tally.hits = tally.misses = tally.evictions = 0


CACHE = PrimCache()
