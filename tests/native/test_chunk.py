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


def acquire(*pairs: tuple[Any, int]) -> tuple[int, Any, bytes]:
    request = len(pairs), [c for c, _ in pairs], bytes(m for _, m in pairs)
    call(lib.ndrt_lease_acquire, *request, what="lease")
    return request


def test_counters() -> None:
    a, b = chunk(), chunk()
    assert b.id > a.id
    lib.ndrt_chunk_add_version(a)
    lib.ndrt_chunk_add_writes(a)
    lib.ndrt_chunk_add_writes(a)
    lib.ndrt_chunk_add_pins(a, 2, 1)
    lib.ndrt_chunk_add_packers(a, 1)
    assert (a.version, a.writes, a.pins, a.writable_pins, a.packers) == (1, 2, 2, 1, 1)
    lib.ndrt_chunk_add_pins(a, -2, -1)
    lib.ndrt_chunk_add_packers(a, -1)
    assert (a.pins, a.writable_pins, a.packers) == (0, 0, 0)


def test_shared_and_exclusive() -> None:
    a, b = chunk(), chunk()
    first = acquire((a, 0), (b, 1))
    second = acquire((a, 0))
    assert (a.lease, b.lease) == (2, -1)
    lib.ndrt_lease_release(*first)
    lib.ndrt_lease_release(*second)
    assert (a.lease, b.lease) == (0, 0)


@pytest.mark.parametrize("n", [3, 30, 300])
def test_a_chunk_named_often_counts_once_at_its_strongest(n: int) -> None:
    a, b = chunk(), chunk()
    request = acquire(*[((a, b)[i % 2], int(i == n // 2)) for i in range(n)])
    strong, weak = ((a, b), (b, a))[n // 2 % 2]
    assert (strong.lease, weak.lease) == (-1, 1)
    lib.ndrt_lease_release(*request)
    assert (a.lease, b.lease) == (0, 0)


def test_no_chunk() -> None:
    with pytest.raises(ParameterError, match="lease 0 of 1 has no chunk"):
        acquire((ffi.NULL, 0))
    lib.ndrt_lease_release(*acquire())


def test_try_exclusive() -> None:
    a = chunk()
    assert lib.ndrt_lease_try_exclusive(a, 0)
    assert a.lease == -1
    assert not lib.ndrt_lease_try_exclusive(a, 0)
    lib.ndrt_lease_back_to_shared(a, 0)
    mine = acquire((a, 0))
    assert not lib.ndrt_lease_try_exclusive(a, 0), "somebody else has one"
    assert lib.ndrt_lease_try_exclusive(a, 1)
    lib.ndrt_lease_back_to_shared(a, 1)
    other = acquire((a, 0))
    assert not lib.ndrt_lease_try_exclusive(a, 1)
    lib.ndrt_lease_release(*other)
    lib.ndrt_lease_release(*mine)
    assert a.lease == 0


@pytest.mark.parametrize(("held_mode", "wanted_mode"), [(1, 0), (0, 1), (1, 1)])
def test_a_request_waits_until_it_can_be_met(held_mode: int, wanted_mode: int) -> None:
    a, b = chunk(), chunk()
    held = acquire((b, held_mode))
    got = threading.Event()

    def want() -> None:
        request = acquire((a, 1), (b, wanted_mode))
        got.set()
        lib.ndrt_lease_release(*request)

    thread = threading.Thread(target=want)
    thread.start()
    assert not got.wait(0.05)
    assert a.lease == 0, "nothing is held while waiting"
    lib.ndrt_lease_release(*held)
    assert got.wait(5)
    thread.join()
    assert (a.lease, b.lease) == (0, 0)


def test_giving_back_to_shared_wakes_readers() -> None:
    a = chunk()
    mine = acquire((a, 0))
    assert lib.ndrt_lease_try_exclusive(a, 1)
    thread = threading.Thread(target=lambda: lib.ndrt_lease_release(*acquire((a, 0))))
    thread.start()
    time.sleep(0.02)
    assert thread.is_alive()
    lib.ndrt_lease_back_to_shared(a, 1)
    thread.join(5)
    assert not thread.is_alive()
    lib.ndrt_lease_release(*mine)


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
            lib.ndrt_lease_release(*request)
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
