"""Offsets of a plan's storages in one arena.

The arena is as small as a greedy plan makes it. For several threads, the middle of a storage is put
at the middle of an earlier one if possible: threads share the rows of a value evenly and in order,
so that its first half is written by the first half of the threads. Writing to lines that a core
with another last-level cache wrote before takes as long as fetching them from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any

import numpy as np

from ...native import call, ffi, lib
from ..program.plan import Storage

PAGE, ALIGNMENT = 4096, 64

# ndrt_life
LIFE = np.dtype([(name, np.int64) for name in
                 ("nbytes", "born", "dies", "team", "lane", "offset")])
Lives = np.ndarray[tuple[int], np.dtype[np.void]]

# comparisons that the search for gaps may make: a fixed number, and one for each of n storages and
# each binary digit of n
WORK_ALWAYS, WORK_EACH = 1 << 24, 16
# scaled offsets are accepted if the arena is at most 3 % larger than that of a fresh plan
WASTE = 1.03


def place(storages: Sequence[Storage], threads: int) -> int:
    """Assigns each storage an offset at which it overlaps none that lives at the same time.

    The largest first, each as low as possible. If so many live at the same time that this takes too
    long, in order of time by best fit, and as many storages as time allows then fill the gaps. For
    several threads storages are then moved within the arena, in the order of their births, to where
    the fewest bytes of each half were last written by the other half of the threads. Returns the
    number of comparisons, which grows no faster than n log n.

    Source: greedy by size (Pisarchyk and Lee, 2020), and best fit.
    """
    if not storages:
        return 0
    by_birth = sorted(storages, key=lambda s: (s.born, -s.nbytes))
    teams = {-1: -1}
    lives = np.array([(s.nbytes, s.born, s.dies, teams.setdefault(s.team, len(teams) - 1), s.lane,
                       0) for s in by_birth], LIFE)
    most = WORK_ALWAYS + WORK_EACH * len(lives) * len(lives).bit_length()
    order = np.argsort(-lives["nbytes"], kind="stable")
    work = _run(lib.ndrt_arena_place_low, lives, _numbers(order), most)
    if work >= most:
        work += _place_in_time(lives)
    if threads > 1:
        work += _run(lib.ndrt_arena_keep_halves, lives, most)
    for storage, offset in zip(by_birth, lives["offset"].tolist(), strict=True):
        storage.offset = offset
    return work


def _place_in_time(lives: Lives) -> int:
    """Best fit in the order of time or in reverse, whichever takes less memory."""
    born, dies, lanes = lives["born"].copy(), lives["dies"].copy(), lives["team"] >= 0
    # storages of lanes, which run at the same time, are held as long as their team runs
    teams = lives["team"][lanes]
    for times, extreme in ((born, np.minimum), (dies, np.maximum)):
        of_team = times[lanes][np.unique(teams, return_index=True)[1]]
        extreme.at(of_team, teams, times[lanes])
        times[lanes] = of_team[teams]
    forward, backward = lives.copy(), lives.copy()
    forward["born"], forward["dies"] = born, dies
    backward["born"], backward["dies"] = -dies, -born
    work = 0
    for tried in (forward, backward):
        births = np.lexsort((-tried["dies"], -tried["nbytes"], tried["born"]))
        deaths = np.argsort(tried["dies"], kind="stable")
        work += _run(lib.ndrt_arena_sweep, tried, _numbers(births), _numbers(deaths))
    lives["offset"] = min(forward, backward, key=_top)["offset"]
    return work


def _top(lives: Lives) -> int:
    return int((lives["offset"] + lives["nbytes"]).max())


def _numbers(array: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Any:
    return ffi.from_buffer("int64_t *", array)


def _run(function: Callable[..., int], lives: Lives, *arguments: Any) -> int:
    """Calls a native function on lifetimes; returns the number of its comparisons."""
    work = ffi.new("int64_t *")
    call(function, len(lives), ffi.from_buffer("ndrt_life *", lives), *arguments, work,
         what="placing storages in an arena")
    return int(work[0])


def place_as(before: Sequence[Storage], storages: Sequence[Storage], fragmentation: float) -> bool:
    """Gives storages the offsets of the same storages `before`, scaled by one ratio.

    `fragmentation` is what `place` reached for the plan whose offsets were scaled first. False, and
    nothing is changed, if lifetimes differ, if not all storages fit, or if the arena would be
    larger by more than the tolerance than that of a new plan.
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
    """Size of the arena over the most bytes that live at one time."""
    top = max((s.offset + s.nbytes for s in storages), default=0)
    return top / max(1, most_alive(storages))


def _life(storage: Storage) -> tuple[int, int, int, int]:
    return storage.born, storage.dies, storage.team, storage.lane


def most_alive(storages: Sequence[Storage]) -> int:
    """The most bytes that live at one time."""
    changes: dict[int, int] = {}
    for storage in storages:
        changes[storage.born] = changes.get(storage.born, 0) + storage.nbytes
        changes[storage.dies + 1] = changes.get(storage.dies + 1, 0) - storage.nbytes
    alive, most = 0, 0
    for number in sorted(changes):
        alive += changes[number]
        most = max(most, alive)
    return most
