"""Where in one arena the storages of a plan lie.

They take as little memory as a greedy plan needs. Where several threads run it, the middle of a
storage lies where it can at the middle of an earlier one: threads share the rows of a value evenly
and in order, so its first half is written by the first half of the threads. To write to what a core
with another last-level cache wrote before takes as long as to fetch it from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import numpy as np

from .plan import Storage

PAGE, ALIGNMENT = 4096, 64
Bytes = np.ndarray[tuple[int], np.dtype[np.int64]]

# who wrote last is kept of so many parts of the arena; so many middles are tried
PARTS, MIDDLES = 512, 8
# so many times what placing anew takes may an arena of scaled places take
WASTE = 1.03


def place(storages: list[Storage], threads: int) -> None:
    """Gives each storage its offset; none overlaps another that lives at the same time."""
    _place_low(storages)
    if threads > 1 and storages:
        _keep_halves(storages)


def place_as(before: Sequence[Storage], storages: Sequence[Storage], fragmentation: float) -> bool:
    """The places of the same storages `before`, scaled, where all grew or shrank by one ratio.

    `fragmentation` is what `place` reached for the storages whose places these are in the end.
    False, with nothing changed, where these live at other times, not all fit into their scaled
    spans, or the arena would be more than placing them anew takes by that.
    """
    if len(before) != len(storages) or not storages or any(
            _life(then) != _life(now) for then, now in zip(before, storages, strict=True)):
        return False
    largest = max(range(len(storages)), key=lambda i: storages[i].used)
    grown, from_ = storages[largest].used, max(1, before[largest].used)
    grown, from_ = grown // gcd(grown, from_), from_ // gcd(grown, from_)
    most = WASTE * fragmentation * most_alive(storages)
    made = []
    for then, now in zip(before, storages, strict=True):
        nbytes = max(ALIGNMENT, -(-now.used // ALIGNMENT) * ALIGNMENT)
        offset, odd = divmod(then.offset * grown, from_ * ALIGNMENT)
        offset *= ALIGNMENT
        if odd or nbytes * from_ > then.nbytes * grown or offset + nbytes > most:
            return False
        made.append((offset, nbytes))
    for storage, (offset, nbytes) in zip(storages, made, strict=True):
        storage.offset, storage.nbytes = offset, nbytes
    return True


def fragmentation_of(storages: Sequence[Storage]) -> float:
    """The arena over the largest set of storages that live at one time."""
    top = max((s.offset + s.nbytes for s in storages), default=0)
    return top / max(1, most_alive(storages))


def _life(storage: Storage) -> tuple[int, int, int, int]:
    return storage.born, storage.dies, storage.team, storage.lane


def most_alive(storages: Sequence[Storage]) -> int:
    """Bytes of the largest set that lives at one time."""
    changes: dict[int, int] = {}
    for storage in storages:
        changes[storage.born] = changes.get(storage.born, 0) + storage.nbytes
        changes[storage.dies + 1] = changes.get(storage.dies + 1, 0) - storage.nbytes
    alive, most = 0, 0
    for number in sorted(changes):
        alive += changes[number]
        most = max(most, alive)
    return most


def _place_low(storages: list[Storage]) -> None:
    """The largest first, each as low as those that live at the same time allow.

    Source: greedy by size (Pisarchyk and Lee, 2020).
    """
    lives = _Lives(storages)
    begin: Bytes = np.zeros(len(storages), np.int64)
    end: Bytes = np.full(len(storages), -1, np.int64)
    order = sorted(range(len(storages)), key=lambda i: (-storages[i].nbytes, storages[i].born))
    for i in order:
        storage = storages[i]
        rivals: Any = np.nonzero((end >= 0) & lives.beside(storage))[0]
        offset = 0
        for rival in rivals[np.argsort(begin[rivals], kind="stable")]:
            if begin[rival] - offset >= storage.nbytes:
                break
            offset = max(offset, int(end[rival]))
        storage.offset = offset
        begin[i], end[i] = offset, offset + storage.nbytes


class _Lives:
    """When storages live, and in which lanes of a team, which run at once."""

    def __init__(self, storages: list[Storage]) -> None:
        self.born = np.array([s.born for s in storages])
        self.dies = np.array([s.dies for s in storages])
        self.team = np.array([s.team for s in storages])
        self.lane = np.array([s.lane for s in storages])

    def beside(self, storage: Storage) -> Any:
        """Which storages live at the same time as this one."""
        found = (self.born <= storage.dies) & (self.dies >= storage.born)
        if storage.team >= 0:
            found |= (self.team == storage.team) & (self.lane != storage.lane)
        return found


def _keep_halves(storages: list[Storage]) -> None:
    """Moves storages within the arena, in the order in which they begin to live, to where the least
    of either half was written last by the other half of the threads."""
    written = _LastWritten(max(s.offset + s.nbytes for s in storages))
    middles: list[int] = []
    lives = _Lives(storages)
    born = lives.born
    begin = np.array([s.offset for s in storages])
    end = begin + np.array([s.nbytes for s in storages])
    for i in sorted(range(len(storages)), key=lambda i: (born[i], -storages[i].nbytes)):
        storage, half = storages[i], storages[i].nbytes // 2
        others = np.nonzero(lives.beside(storage))[0]
        others = others[others != i]
        begins, ends = begin[others], end[others]
        least = written.by_others(storage.offset, storage.nbytes)
        for middle in middles:
            if not least:
                break
            offset = max(0, min(middle - half, written.nbytes - storage.nbytes)) // PAGE * PAGE
            if ((begins < offset + storage.nbytes) & (ends > offset)).any():
                continue
            wrong = written.by_others(offset, storage.nbytes)
            if wrong < least:
                least, storage.offset = wrong, offset
        begin[i], end[i] = storage.offset, storage.offset + storage.nbytes
        written.write(storage.offset, storage.nbytes)
        middle = storage.offset + half
        middles = [middle, *(m for m in middles if m != middle)][:MIDDLES]


class _LastWritten:
    """Which half of the threads wrote to each part of an arena last: 1, 2, or 0 for nobody yet."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._unit = max(1, -(-nbytes // PARTS))
        self._half = np.zeros(PARTS + 1, np.int8)

    def _bounds(self, offset: int, nbytes: int) -> tuple[int, int, int]:
        unit = self._unit
        return offset // unit, (offset + nbytes // 2) // unit, (offset + nbytes) // unit

    def by_others(self, offset: int, nbytes: int) -> int:
        """How many parts the other half wrote to, were a storage of `nbytes` to lie there."""
        begin, middle, end = self._bounds(offset, nbytes)
        half = self._half
        return int(np.count_nonzero(half[begin:middle] == 2) +
                   np.count_nonzero(half[middle:end] == 1))

    def write(self, offset: int, nbytes: int) -> None:
        """A storage that lies there is written to, each half by its threads."""
        begin, middle, end = self._bounds(offset, nbytes)
        self._half[begin:middle] = 1
        self._half[middle:end] = 2
