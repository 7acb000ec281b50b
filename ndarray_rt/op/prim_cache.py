"""The cache of primitives: session -> input-shape group -> signature. Makes none itself."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol, TypeVar

from .. import config
from ..fork import renew_in_child
from ..storage.primitive import Primitive

T = TypeVar("T")

IMPERATIVE = "imperative"  # the session that all threads' imperative calls share
MOST_BYTES = 1 << 30  # bound on all entries together
LEAST_DEPENDENTS = 64


class Room(NamedTuple):
    """The most entries and bytes of one group; bytes are estimated from the primitives' kinds."""

    entries: int
    nbytes: int


# calls of one operator with one set of shapes: many entries mean that a number keeps changing
ROOM_OF_CALLS = Room(256, 8 << 20)
# all nodes of one graph, whose number is fixed
ROOM_OF_GRAPH = Room(1 << 17, MOST_BYTES)


def nbytes_of(made: Any) -> int:
    """Approximate size of an entry: of its primitives, alone or in tuples."""
    if isinstance(made, Primitive):
        return made.nbytes
    if isinstance(made, (tuple, list)):
        return sum([nbytes_of(item) for item in made])
    return 256


class Tally:
    """Counters of the entries of one session, or of all sessions that ended."""

    __slots__ = ("evictions", "hits", "misses")

    def __init__(self) -> None:
        self.hits = self.misses = self.evictions = 0

    def add(self, more: Tally) -> None:
        self.hits += more.hits
        self.misses += more.misses
        self.evictions += more.evictions


class Dependent(Protocol):
    """Something that relies on the entries of a group; called when they are dropped."""

    @property
    def is_alive(self) -> bool: ...
    def __call__(self) -> object: ...


class Group(dict[Hashable, Any]):
    """The entries of one input-shape group, by signature, and the counters of its session."""

    __slots__ = ("_dependents", "_prune_at", "nbytes", "room", "tally")

    def __init__(self, tally: Tally, room: Room = ROOM_OF_CALLS) -> None:
        super().__init__()
        self.tally = tally
        self.room = room
        self.nbytes = 0
        self._dependents: list[Dependent] = []
        self._prune_at = LEAST_DEPENDENTS

    @property
    def is_full(self) -> bool:
        return len(self) > self.room.entries or self.nbytes > self.room.nbytes

    def tell_leaving(self, dependent: Dependent) -> None:
        """Calls `dependent` when the group is evicted or emptied."""
        if len(self._dependents) >= self._prune_at:
            self._dependents = [one for one in self._dependents if one.is_alive]
            self._prune_at = max(LEAST_DEPENDENTS, 2 * len(self._dependents))
        self._dependents.append(dependent)

    def leave(self) -> None:
        """The group is evicted: notifies those that rely on its entries."""
        dependents, self._dependents = self._dependents, []
        for tell in dependents:
            tell()


Groups = OrderedDict[tuple[Hashable, Hashable], Group]


class PrimCache:
    """Bounded by shape groups: over the bound, the least recently used group is evicted as a whole.

    A group that exceeds its own room is emptied, as its keys contain numbers that change; if all
    groups exceed MOST_BYTES, the least recently used ones are evicted. Entries shared by batches of
    all sizes have groups of their own, under the same bound. Thread-safe. If two threads build the
    same key at once, both build it and one result is kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: Groups = OrderedDict()
        self._shared: Groups = OrderedDict()
        self._tallies: dict[Hashable, Tally] = {}
        self._ended = Tally()
        self._nbytes = 0
        self._released: deque[Hashable] = deque()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """Called in a forked child."""
        self._lock = threading.Lock()

    def group(self, session: Hashable, shapes: Hashable, any_batch: bool = False,
              room: Room = ROOM_OF_CALLS) -> Group:
        """The entries of one input-shape group, created if new, and marked as just used.

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
                found = groups[key] = Group(tally, room)
                while len(groups) > max(1, config.NDRT_CACHE_SHAPES):
                    self._evict(groups)
            else:
                groups.move_to_end(key)
            return found

    def find(self, group: Group, sign: Hashable, build: Callable[[], T]) -> T:
        """The group's entry for this signature, built if it has none."""
        found = group.get(sign)
        if found is None:
            group.tally.misses += 1
            found = self._keep(group, sign, build())
        else:
            group.tally.hits += 1
        return found

    def _keep(self, group: Group, sign: Hashable, made: T) -> T:
        """Adds an entry unless another thread did already; evicts others if there is no room."""
        with self._lock:
            found: T = group.setdefault(sign, made)
            if found is not made:
                return found
            nbytes = nbytes_of(made)
            group.nbytes += nbytes
            self._nbytes += nbytes
            if group.is_full:
                self._empty(group)
                group.tally.evictions += 1
                group[sign] = made
                group.nbytes = nbytes
                self._nbytes += nbytes
            for groups in (self._groups, self._shared):
                while self._nbytes > MOST_BYTES and len(groups) > 1:
                    self._evict(groups)
        return made

    def _empty(self, group: Group) -> None:
        self._nbytes -= group.nbytes
        group.nbytes = 0
        group.clear()
        group.leave()

    def _evict(self, groups: Groups) -> None:
        """Evicts the least recently used group."""
        _, evicted = groups.popitem(last=False)
        evicted.tally.evictions += 1
        self._nbytes -= evicted.nbytes
        # contexts that hold the group continue to use it
        evicted.nbytes = 0
        evicted.leave()

    def clear(self, session: Hashable | None = None) -> None:
        """Drops one session, or everything."""
        with self._lock:
            for groups in (self._groups, self._shared):
                for key in [k for k in groups if session is None or k[0] == session]:
                    # emptied too, as the context that ran last may still hold it
                    self._empty(groups.pop(key))

    def release(self, session: Hashable) -> None:
        """Drops a session at the next use of the cache; takes no lock, for finalizers."""
        self._released.append(session)

    def clear_released(self) -> None:
        """Drops the released sessions; their counters stay in the totals."""
        while self._released:
            session = self._released.popleft()
            self.clear(session)
            with self._lock:
                self._ended.add(self._tallies.pop(session, Tally()))

    def stats(self, session: Hashable | None = None) -> dict[str, int]:
        """Counters, and the numbers of sessions, groups and entries held; of one session or of all.
        """
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
        """Resets all counters to 0."""
        with self._lock:
            for tally in (self._ended, *self._tallies.values()):
                tally.hits = tally.misses = tally.evictions = 0


CACHE = PrimCache()
