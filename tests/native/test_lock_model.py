"""All interleavings of a small model of the locks in native/runtime/{chunk,lockset,readers}.c.

Each atomic operation of the C code is one step of a generator here, under the name of its function.
Memory is sequentially consistent, as the C code asks for at each of them. Threads are few and their
programs short; every order of their steps is taken. No thread may hold a chunk beside one that
writes to it, and a state without a next step must be one in which all are done and hold nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

Condition = Callable[[], bool] | None  # of the next step; None: it is possible at once
Steps = Generator[Condition, None, bool]
Program = Callable[["Locks"], Steps]


class Violation(Exception):
    """The locks do not keep what they promise."""


@dataclass
class Locks:
    """What all threads see: chunks, and threads that read some of them by bias."""

    flaw: str = ""
    count: list[int] = field(default_factory=lambda: [0, 0])  # of each chunk
    readers: list[set[int]] = field(default_factory=lambda: [set(), set()])  # of each chunk
    reads: dict[int, int] = field(default_factory=dict)  # of each biased thread
    revoked: dict[int, int] = field(default_factory=dict)
    unrevoked: dict[int, int] = field(default_factory=dict)
    times: dict[tuple[int, int], int] = field(default_factory=dict)  # (thread, chunk)
    is_locked: bool = False  # the lists of readers
    is_wait_locked: bool = False
    waiting: int = 0
    asleep: set[int] = field(default_factory=set)
    inside: set[tuple[int, int, bool]] = field(default_factory=set)  # (thread, chunk, writes)

    # ---- chunk.c

    def upgrade(self, chunk: int, own: int) -> Steps:
        if (self.flaw == "the writer looks before it takes"
                and (yield from self.revoke(chunk))):
            return False
        yield None
        if self.count[chunk] != own:
            return False
        self.count[chunk] = -1
        if self.flaw == "the writer looks before it takes":
            return True
        if not (yield from self.revoke(chunk)):
            return True
        yield None
        self.count[chunk] = own
        return False

    def lease_try(self, chunk: int, writes: bool) -> Steps:
        if writes:
            return (yield from self.upgrade(chunk, 0))
        yield None
        if self.count[chunk] < 0:
            return False
        self.count[chunk] += 1
        return True

    def lease_undo(self, chunk: int, writes: bool) -> Steps:
        yield None
        self.count[chunk] = 0 if writes else self.count[chunk] - 1
        return True

    def leases_take(self, leases: dict[int, bool]) -> Steps:
        taken: list[int] = []
        for chunk, writes in leases.items():
            if not (yield from self.lease_try(chunk, writes)):
                for one in reversed(taken):
                    yield from self.lease_undo(one, leases[one])
                return False
            taken.append(chunk)
        return True

    def wake(self) -> Steps:
        yield None
        if not self.waiting or self.flaw == "nobody wakes":
            return False
        yield lambda: not self.is_wait_locked
        self.asleep.clear()
        return True

    def leases_wait(self, me: int, leases: dict[int, bool]) -> Steps:
        yield lambda: not self.is_wait_locked
        self.is_wait_locked = True
        if self.flaw != "not counted as waiting":
            self.waiting += 1
        while not (yield from self.leases_take(leases)):
            yield None
            self.asleep.add(me)
            self.is_wait_locked = False
            yield lambda: me not in self.asleep and not self.is_wait_locked
            self.is_wait_locked = True
        yield None
        if self.flaw != "not counted as waiting":
            self.waiting -= 1
        self.is_wait_locked = False
        return True

    # ---- readers.c

    def revoke(self, chunk: int) -> Steps:
        yield None
        if not self.readers[chunk]:
            return False
        yield lambda: not self.is_locked
        self.is_locked = True
        reading = False
        for reader in sorted(self.readers[chunk]):
            self.times[reader, chunk] = self.times.get((reader, chunk), 0) + 1
            self.revoked[reader] += 1
            yield None
            reading |= bool(self.reads[reader])
        self.is_locked = False
        return reading

    def settle(self, me: int, chunks: dict[int, bool], often: int) -> Steps:
        yield lambda: not self.is_locked
        for chunk in chunks:
            if self.times.get((me, chunk), 0) >= often:
                self.readers[chunk].discard(me)
        return True

    # ---- lockset.c

    def lockset_try(self, me: int, leases: dict[int, bool], often: int) -> Steps:
        if self.flaw != "the reader looks before it says so":
            yield None
            self.reads[me] = 1
        yield None
        revoked, got = self.revoked[me], True
        if revoked != self.unrevoked[me]:
            yield from self.settle(me, leases, often)
            for chunk in leases:
                if me in self.readers[chunk]:
                    yield None
                    got &= self.count[chunk] >= 0 or self.flaw == "the reader does not look"
        if self.flaw == "the reader looks before it says so":
            yield None
            self.reads[me] = 1
        counted = [chunk for chunk in leases if me not in self.readers[chunk]]
        taken: list[int] = []
        while got and len(taken) < len(counted):
            got = yield from self.lease_try(counted[len(taken)], leases[counted[len(taken)]])
            if got:
                taken.append(counted[len(taken)])
        if got:
            self.unrevoked[me] = revoked
            yield from self.use(me, leases)
        for chunk in taken:
            yield from self.lease_undo(chunk, leases[chunk])
        yield None
        self.reads[me] = 0
        yield from self.wake()
        return got

    def use(self, me: int, leases: dict[int, bool]) -> Steps:
        """What the locks protect."""
        for chunk, writes in leases.items():
            for other, held, written in self.inside:
                if other != me and held == chunk and (writes or written):
                    raise Violation(f"threads {me} and {other} hold chunk {chunk}")
            self.inside.add((me, chunk, writes))
        yield None
        for chunk, writes in leases.items():
            self.inside.remove((me, chunk, writes))
        return True

    # ---- what threads do

    def take(self, me: int, leases: dict[int, bool]) -> Steps:
        """As an operator does that runs at once."""
        if not (yield from self.leases_take(leases)):
            yield from self.wake()
            yield from self.leases_wait(me, leases)
        yield from self.use(me, leases)
        for chunk, writes in leases.items():
            yield from self.lease_undo(chunk, writes)
        return (yield from self.wake())

    def replay(self, me: int, leases: dict[int, bool], runs: int, often: int) -> Steps:
        """As a recorded run: by bias where that can be had, else counted and waited for."""
        self.reads[me], self.revoked[me], self.unrevoked[me] = 0, 0, 0
        for chunk, writes in leases.items():
            if not writes:
                self.readers[chunk].add(me)
        for _ in range(runs):
            if not (yield from self.lockset_try(me, leases, often)):
                yield from self.take(me, leases)
        return True

    def become_writer(self, me: int, chunk: int) -> Steps:
        """A reader who writes when nobody else reads."""
        if not (yield from self.leases_take({chunk: False})):
            yield from self.wake()
            yield from self.leases_wait(me, {chunk: False})
        if (yield from self.upgrade(chunk, 1)):
            yield from self.use(me, {chunk: True})
            yield None
            self.count[chunk] = 1
        else:
            yield from self.wake()
            yield from self.use(me, {chunk: False})
        yield from self.lease_undo(chunk, False)
        return (yield from self.wake())


class Run:
    """The threads after some steps; `schedule` says who took each."""

    def __init__(self, programs: list[Program], flaw: str, schedule: tuple[int, ...]) -> None:
        self.locks = Locks(flaw)
        self.threads = [program(self.locks) for program in programs]
        self.next: dict[int, Condition] = {}
        self.schedule: tuple[int, ...] = ()
        for number in range(len(programs)):
            self._advance(number)
        for number in schedule:
            self.step(number)

    def _advance(self, number: int) -> None:
        try:
            self.next[number] = next(self.threads[number])
        except StopIteration:
            del self.next[number]

    def step(self, number: int) -> None:
        self.schedule += (number,)
        self._advance(number)

    def able(self) -> list[int]:
        return [number for number, condition in self.next.items()
                if condition is None or condition()]

    def state(self) -> str:
        """The same for runs that go on in the same way."""
        places: list[object] = []
        for number in self.next:
            steps: Any = self.threads[number]
            while steps is not None:
                frame = steps.gi_frame
                places += [number, frame.f_lineno, {name: value for name, value
                                                    in frame.f_locals.items() if name != "self"}]
                steps = steps.gi_yieldfrom
        return repr((self.locks, places))


def explore(programs: list[Program], flaw: str = "") -> int:
    """Takes every order of steps; how many states there are."""
    seen: set[str] = set()
    left: list[tuple[int, ...]] = [()]
    while left:
        run = Run(programs, flaw, left.pop())
        while (state := run.state()) not in seen:
            seen.add(state)
            able = run.able()
            if not able:
                held = any(run.locks.count) or any(run.locks.reads.values())
                if run.next or held or run.locks.waiting:
                    raise Violation(f"threads {list(run.next)} wait for ever: {run.locks}")
                break
            left += [(*run.schedule, number) for number in able[1:]]
            run.step(able[0])
    return len(seen)


READ, WRITE = False, True
SCENARIOS: dict[str, list[Program]] = {
    "a replay and a writer": [
        lambda locks: locks.replay(0, {0: READ}, 2, 2),
        lambda locks: locks.take(1, {0: WRITE})],
    "a replay and two writers": [
        lambda locks: locks.replay(0, {0: READ}, 1, 1),
        lambda locks: locks.take(1, {0: WRITE}),
        lambda locks: locks.take(2, {0: WRITE})],
    "a replay, no more biased, and a writer": [
        lambda locks: locks.replay(0, {0: READ}, 3, 1),
        lambda locks: locks.take(1, {0: WRITE})],
    "two replays that write what the other reads": [
        lambda locks: locks.replay(0, {0: READ, 1: WRITE}, 1, 1),
        lambda locks: locks.replay(1, {0: WRITE, 1: READ}, 1, 1)],
    "a replay and a reader who becomes the writer": [
        lambda locks: locks.replay(0, {0: READ}, 2, 1),
        lambda locks: locks.become_writer(1, 0)],
    "sets that cross": [
        lambda locks: locks.take(0, {0: WRITE, 1: READ}),
        lambda locks: locks.take(1, {0: READ, 1: WRITE})],
    "a writer and two readers who become the writer": [
        lambda locks: locks.take(0, {0: WRITE}),
        lambda locks: locks.become_writer(1, 0),
        lambda locks: locks.become_writer(2, 0)],
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_order_of_steps_breaks_the_locks(name: str) -> None:
    assert explore(SCENARIOS[name]) > 100


@pytest.mark.parametrize(("flaw", "name"), [
    ("the writer looks before it takes", "a replay and a writer"),
    ("the reader looks before it says so", "a replay and a writer"),
    ("the reader does not look", "a replay and a writer"),
    ("nobody wakes", "sets that cross"),
    ("not counted as waiting", "sets that cross")])
def test_the_model_finds_a_flaw(flaw: str, name: str) -> None:
    with pytest.raises(Violation):
        explore(SCENARIOS[name], flaw)
