"""Chunk counters and leases."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib, own


def chunk() -> Any:
    out = ffi.new("ndrt_chunk **")
    call(lib.ndrt_chunk_new, out, what="chunk")
    return own(out[0], lib.ndrt_chunk_free)


class LockSet:
    """A native lock set, taken at once unless told otherwise."""

    def __init__(self, *pairs: tuple[Any, int], kind: int = lib.NDRT_LOCKSET_LEASES,
                 take: bool = True) -> None:
        out = ffi.new("ndrt_new_lockset *")
        call(lib.ndrt_lockset_new, kind, len(pairs), [c for c, _ in pairs],
             bytes(m for _, m in pairs), out, what="lock set")
        self.ptr = own(out.set, lib.ndrt_lockset_free)
        assert int(ffi.cast("intptr_t", out.set)) == out.address
        self.got = take and bool(lib.ndrt_lockset_take(self.ptr))

    def give_back(self) -> None:
        lib.ndrt_lockset_give_back(self.ptr)


def acquire(*pairs: tuple[Any, int]) -> LockSet:
    return LockSet(*pairs)


def upgrade(c: Any, held: int) -> LockSet:
    return LockSet((c, not held), kind=lib.NDRT_LOCKSET_UPGRADE)


def test_writes_are_noted_and_compared() -> None:
    chunks = [chunk(), chunk()]
    lib.ndrt_chunk_add_writes(chunks[1])
    natives, writes = ffi.new("ndrt_chunk *[]", chunks), ffi.new("uint64_t[]", 2)
    assert lib.ndrt_chunks_note(2, natives, writes) == 1
    assert list(writes) == [0, 1]
    assert lib.ndrt_chunks_unwritten(2, natives, writes) == 1
    lib.ndrt_chunk_add_writes(chunks[0])
    assert lib.ndrt_chunks_unwritten(2, natives, writes) == 0
    assert lib.ndrt_chunks_unwritten(1, natives + 1, writes + 1) == 1
    lib.ndrt_chunk_add_pins(chunks[0], 1, 0)
    assert lib.ndrt_chunks_note(2, natives, writes) == 1
    lib.ndrt_chunk_add_pins(chunks[1], 1, 1)
    assert lib.ndrt_chunks_note(2, natives, writes) == 0
    assert lib.ndrt_chunks_unwritten(2, natives, writes) == 1


def test_counters() -> None:
    a, b = chunk(), chunk()
    assert b.id > a.id
    lib.ndrt_chunk_add_version(a)
    lib.ndrt_chunk_add_writes(a)
    lib.ndrt_chunk_add_writes(a)
    lib.ndrt_chunk_add_pins(a, 2, 1)
    assert (a.version, a.writes, a.pins, a.writable_pins) == (1, 2, 2, 1)
    lib.ndrt_chunk_add_pins(a, -2, -1)
    assert (a.pins, a.writable_pins) == (0, 0)


def test_packers() -> None:
    a, b = chunk(), chunk()
    first = LockSet((a, 0), (b, 0), (a, 0), kind=lib.NDRT_LOCKSET_PACKED)
    second = LockSet((a, 0), kind=lib.NDRT_LOCKSET_PACKED)
    assert (a.packers, b.packers, a.lease) == (2, 1, 0), "a chunk named twice counts once"
    first.give_back()
    first.give_back()
    assert (a.packers, b.packers) == (1, 0)
    del second
    assert a.packers == 0


def test_a_lock_set_knows_whether_it_is_held() -> None:
    a = chunk()
    held = LockSet((a, 1), take=False)
    held.give_back()
    assert a.lease == 0, "giving back what was not taken does nothing"
    assert lib.ndrt_lockset_take(held.ptr)
    assert not lib.ndrt_lockset_take(held.ptr), "what is held can not be taken again"
    held.give_back()
    other = acquire((a, 0))
    held.give_back()
    assert a.lease == 1, "a second time does nothing either"
    other.give_back()
    assert lib.ndrt_lockset_take(held.ptr), "a lock set may be used again"
    del held
    assert a.lease == 0, "its end gives back"


def test_a_lock_set_outlives_the_owner_of_its_chunk() -> None:
    a = chunk()
    held = acquire((a, 1))
    del a
    held.give_back()
    del held


def test_shared_and_exclusive() -> None:
    a, b = chunk(), chunk()
    first = acquire((a, 0), (b, 1))
    second = acquire((a, 0))
    assert (a.lease, b.lease) == (2, -1)
    first.give_back()
    second.give_back()
    assert (a.lease, b.lease) == (0, 0)


@pytest.mark.parametrize("n", [3, 30, 300])
def test_a_chunk_named_often_counts_once_at_its_strongest(n: int) -> None:
    a, b = chunk(), chunk()
    request = acquire(*[((a, b)[i % 2], int(i == n // 2)) for i in range(n)])
    strong, weak = ((a, b), (b, a))[n // 2 % 2]
    assert (strong.lease, weak.lease) == (-1, 1)
    request.give_back()
    assert (a.lease, b.lease) == (0, 0)


def test_no_chunk() -> None:
    with pytest.raises(ParameterError, match="lease 0 of 1 has no chunk"):
        acquire((ffi.NULL, 0))
    acquire().give_back()


def test_upgrades() -> None:
    a = chunk()
    alone = upgrade(a, 0)
    assert alone.got
    assert a.lease == -1
    assert not upgrade(a, 0).got
    alone.give_back()
    mine = acquire((a, 0))
    assert not upgrade(a, 0).got, "somebody else has one"
    mine_alone = upgrade(a, 1)
    assert mine_alone.got
    assert a.lease == -1
    mine_alone.give_back()
    assert a.lease == 1
    other = acquire((a, 0))
    assert not upgrade(a, 1).got
    assert a.lease == 2, "what was not got is not given back"
    other.give_back()
    mine.give_back()
    assert a.lease == 0


@pytest.mark.parametrize(("held_mode", "wanted_mode"), [(1, 0), (0, 1), (1, 1)])
def test_a_request_waits_until_it_can_be_met(held_mode: int, wanted_mode: int) -> None:
    a, b = chunk(), chunk()
    held = acquire((b, held_mode))
    got = threading.Event()

    def want() -> None:
        request = acquire((a, 1), (b, wanted_mode))
        got.set()
        request.give_back()

    thread = threading.Thread(target=want)
    thread.start()
    assert not got.wait(0.05)
    assert a.lease == 0, "nothing is held while waiting"
    held.give_back()
    assert got.wait(5)
    thread.join()
    assert (a.lease, b.lease) == (0, 0)


def test_giving_back_to_shared_wakes_readers() -> None:
    a = chunk()
    mine = acquire((a, 0))
    alone = upgrade(a, 1)
    thread = threading.Thread(target=lambda: acquire((a, 0)).give_back())
    thread.start()
    time.sleep(0.02)
    assert thread.is_alive()
    alone.give_back()
    thread.join(5)
    assert not thread.is_alive()
    mine.give_back()


def test_many_threads_exclude_one_another_and_all_finish() -> None:
    chunks = [chunk() for _ in range(5)]
    written = [0] * 5
    expected = [0] * 5
    count = threading.Lock()
    failures: list[str] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(300):
            picks = [(rng.randrange(5), int(rng.random() < 0.4)) for _ in range(rng.randint(1, 6))]
            request = acquire(*[(chunks[i], m) for i, m in picks])
            mine = {i for i, m in picks if m}
            seen = {i: written[i] for i in mine}
            if rng.random() < 0.2:
                time.sleep(0)
            for i in mine:
                if written[i] != seen[i] or chunks[i].lease != -1:
                    failures.append(f"chunk {i} was written by two")
                written[i] = seen[i] + 1
            for i, _ in picks:
                if i not in mine and chunks[i].lease < 1:
                    failures.append(f"chunk {i} is read without a lease")
            request.give_back()
            with count:
                for i in mine:
                    expected[i] += 1

    threads = [threading.Thread(target=work, args=(s,), daemon=True) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads), "a request waits for ever"
    assert not failures
    assert written == expected
    assert all(c.lease == 0 for c in chunks)
