"""Biased read locks: not counted in each chunk, and seen by every writer."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ndarray_rt.errors import OutOfMemory
from ndarray_rt.native import call, ffi, lib

from .test_chunk import LockSet, acquire, chunk, upgrade


def reader(*chunks: Any, written: Any = None) -> LockSet:
    """A lock set that is to be tried again and again."""
    pairs = [(one, 0) for one in chunks] + ([] if written is None else [(written, 1)])
    locks = LockSet(*pairs, take=False)
    assert not lib.ndrt_lockset_try(locks.ptr), "nothing is biased yet"
    for _ in range(2):
        call(lib.ndrt_lockset_bias, locks.ptr, what="biasing")
    return locks


def reads(locks: LockSet) -> bool:
    return bool(lib.ndrt_lockset_try(locks.ptr))


def unrevoked(locks: LockSet) -> int:
    """The number for one run."""
    assert reads(locks)
    number = int(lib.ndrt_lockset_unrevoked(locks.ptr))
    locks.give_back()
    return number


def is_biased(locks: LockSet, one: Any) -> bool:
    return bool(lib.ndrt_lockset_is_biased(locks.ptr, one))


def test_it_is_not_counted_but_seen() -> None:
    a, b, out = chunk(), chunk(), chunk()
    locks = reader(a, b, written=out)
    assert reads(locks)
    assert not reads(locks), "what is held can not be had again"
    assert (a.lease, b.lease, out.lease) == (0, 0, -1)
    assert [lib.ndrt_chunk_lease(one) for one in (a, b, out)] == [1, 1, -1]
    assert [is_biased(locks, one) for one in (a, b, out, chunk())] == [True, True, False, False]
    assert not upgrade(a, 0).got
    second = reader(a)
    assert reads(second)
    assert lib.ndrt_chunk_lease(a) == 2
    counted = acquire((a, 0))
    assert lib.ndrt_chunk_lease(a) == 3
    assert not upgrade(a, 1).got
    assert a.lease == 1, "what was not got is not given back"
    for one in (second, locks):
        one.give_back()
        one.give_back()
    assert upgrade(a, 1).got
    counted.give_back()
    assert [lib.ndrt_chunk_lease(one) for one in (a, b, out)] == [0, 0, 0]


def test_it_does_not_wait_and_leaves_nothing() -> None:
    a, b, out = chunk(), chunk(), chunk()
    locks = reader(a, b, written=out)
    for in_the_way in ((a, 1), (b, 1), (out, 1), (out, 0)):
        other = acquire(in_the_way)
        for _ in range(3):
            assert not reads(locks)
        others = [one for one in (a, b, out) if one is not in_the_way[0]]
        assert [lib.ndrt_chunk_lease(one) for one in others] == [0, 0]
        assert lib.ndrt_lockset_unrevoked(locks.ptr) == 0
        other.give_back()
        assert reads(locks)
        locks.give_back()


@pytest.mark.parametrize("change", [
    lambda a: lib.ndrt_chunk_add_version(a), lambda a: lib.ndrt_chunk_add_writes(a),
    lambda a: lib.ndrt_chunk_place(a, a.data, 0), lambda a: lib.ndrt_chunk_add_pins(a, 1, 1),
    lambda a: lib.ndrt_chunk_add_pins(a, -1, -1), lambda a: acquire((a, 1)).give_back(),
    lambda a: upgrade(a, 0).give_back()])
def test_each_change_is_told(change: Callable[[Any], None]) -> None:
    a, b = chunk(), chunk()
    locks = reader(a, b)
    before = unrevoked(locks)
    assert before > 0
    acquire((a, 0), (b, 0)).give_back()
    lib.ndrt_chunk_add_pins(b, 1, 0)
    assert unrevoked(locks) == before, "readers change nothing"
    change(b)
    assert unrevoked(locks) != before


def test_a_change_while_it_reads_is_told_the_next_time() -> None:
    a = chunk()
    locks = reader(a)
    assert reads(locks)
    before = lib.ndrt_lockset_unrevoked(locks.ptr)
    lib.ndrt_chunk_add_pins(a, 1, 1)
    assert lib.ndrt_lockset_unrevoked(locks.ptr) == before, "it is of this run"
    locks.give_back()
    assert lib.ndrt_lockset_unrevoked(locks.ptr) == 0
    assert unrevoked(locks) != before


def test_what_changes_again_and_again_is_counted() -> None:
    a, b = chunk(), chunk()
    locks = reader(a, b)
    unrevoked(locks)
    for _ in range(3):
        lib.ndrt_chunk_add_writes(b)
        unrevoked(locks)
    assert is_biased(locks, a)
    assert not is_biased(locks, b)
    before = unrevoked(locks)
    lib.ndrt_chunk_add_writes(b)
    assert reads(locks)
    assert lib.ndrt_lockset_unrevoked(locks.ptr) == before
    assert (a.lease, b.lease) == (0, 1)
    assert not upgrade(b, 0).got
    locks.give_back()
    assert (a.lease, b.lease) == (0, 0)


def test_what_changes_no_more_is_biased_again() -> None:
    a, b, out = chunk(), chunk(), chunk()
    locks = reader(a, b, written=out)
    for _ in range(3):
        lib.ndrt_chunk_add_writes(b)
        unrevoked(locks)
    assert not is_biased(locks, b)
    before = unrevoked(locks)
    for _ in range(1100):
        unrevoked(locks)
    assert is_biased(locks, b)
    assert unrevoked(locks) != before, "who guards it looks at all again"
    before = unrevoked(locks)
    lib.ndrt_chunk_add_writes(b)
    assert unrevoked(locks) != before
    assert reads(locks)
    assert (a.lease, b.lease, out.lease) == (0, 0, -1)


def test_taken_in_the_usual_way_it_is_counted() -> None:
    a = chunk()
    locks = reader(a)
    unrevoked(locks)
    assert lib.ndrt_lockset_take(locks.ptr)
    assert a.lease == 1
    assert lib.ndrt_lockset_unrevoked(locks.ptr) == 0
    assert upgrade(a, 1).got, "its own word says nothing now"
    locks.give_back()
    assert lib.ndrt_chunk_lease(a) == 0


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_the_dead_are_forgotten(order: tuple[int, ...]) -> None:
    a, b = chunk(), chunk()
    holds = {i: reader(a, b) for i in range(3)}
    assert all(map(reads, holds.values()))
    for left, i in zip((2, 1, 0), order, strict=True):
        del holds[i]
        assert lib.ndrt_chunk_lease(a) == lib.ndrt_chunk_lease(b) == left
    assert upgrade(a, 0).got
    assert a.readers == b.readers == ffi.NULL


def test_its_end_wakes_who_waits() -> None:
    a, b = chunk(), chunk()
    locks = reader(a, b)
    assert reads(locks)
    got = threading.Event()

    def want() -> None:
        request = acquire((b, 1))
        got.set()
        request.give_back()
    thread = threading.Thread(target=want)
    thread.start()
    assert not got.wait(0.05)
    locks.give_back()
    assert got.wait(5)
    thread.join()


@pytest.mark.parametrize("n", [0, 1])
def test_no_memory_to_be_known(n: int) -> None:
    a = chunk()
    locks = LockSet((a, 0), take=False)
    lib.ndrt_memory_fail_after(n)
    try:
        with pytest.raises(OutOfMemory, match="bias leases on 1 chunks"):
            call(lib.ndrt_lockset_bias, locks.ptr, what="biasing")
    finally:
        lib.ndrt_memory_fail_after(-1)
    assert a.readers == ffi.NULL
    assert not reads(locks)


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that are interrupted as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("eager_threads")
def test_many_threads_never_read_what_is_written(seed: int) -> None:
    chunks = [chunk() for _ in range(5)]
    writers, readers = [0] * 5, [0] * 5
    count = threading.Lock()
    failures: list[str] = []
    tried = [0, 0]

    def read(number: int) -> None:
        rng = random.Random(f"{seed} reader {number}")
        for _ in range(6):
            picks = rng.sample(range(5), rng.randint(1, 4))
            locks = reader(*(chunks[i] for i in picks))
            for _ in range(400):
                got = reads(locks)
                tried[got] += 1
                if not got:
                    lib.ndrt_lockset_take(locks.ptr)
                with count:
                    for i in picks:
                        readers[i] += 1
                failures.extend(f"chunk {i} is read while it is written" for i in picks
                                if writers[i])
                with count:
                    for i in picks:
                        readers[i] -= 1
                locks.give_back()

    def write(number: int) -> None:
        rng = random.Random(f"{seed} writer {number}")
        for _ in range(2500):
            i = rng.randrange(5)
            locks = upgrade(chunks[i], 0) if rng.random() < 0.5 else acquire((chunks[i], 1))
            if locks.got:
                writers[i] += 1
                if readers[i] or writers[i] != 1:
                    failures.append(f"chunk {i} is written while others have it")
                writers[i] -= 1
            locks.give_back()
    threads = [threading.Thread(target=work, args=(i,), daemon=True)
               for i in range(3) for work in (read, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "somebody was not woken"
    assert not failures, failures[:5]
    assert tried[1], "nothing was had by trying"
    assert [lib.ndrt_chunk_lease(one) for one in chunks] == [0] * 5
