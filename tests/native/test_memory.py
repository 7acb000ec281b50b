"""Buffers: aligned, counted, pooled; failing allocations leave nothing behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import OutOfMemory
from ndarray_rt.native import call, ffi, lib, text
from tests.native.helpers import Array, Prim, buffer, desc


def stats() -> Any:
    gc.collect()
    out = ffi.new("ndrt_memory_stats *")
    lib.ndrt_memory_stats_read(out)
    return out


@pytest.fixture(autouse=True)
def small_cache() -> Iterator[None]:
    lib.ndrt_memory_trim()
    yield
    lib.ndrt_memory_cache_limit(1 << 30)
    lib.ndrt_memory_trim()


def address(b: Any) -> int:
    return int(ffi.cast("uintptr_t", b.data))


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 511, 513, 4095, 4096, 5000, 100_000,
                                    (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 9_999_999])
def test_alignment_capacity_and_zero(nbytes: int) -> None:
    for _ in range(3):  # fresh, then from the pool with somebody's bytes in it
        b = buffer(nbytes)
        assert b.nbytes == nbytes
        assert b.capacity >= max(nbytes, 1)
        if nbytes > 512:
            assert b.capacity <= nbytes * 1.125 + 64
        align = 64 if nbytes < 4096 else 4096 if nbytes < 2 << 20 else 2 << 20
        assert address(b) % align == 0
        view = np.frombuffer(ffi.buffer(b.data, nbytes or 1), "u1")[:nbytes]
        assert not view.any()
        view[:] = 255
        del b, view
        gc.collect()


def test_every_size_gets_room() -> None:
    for nbytes in [*range(2000), *(2**k + d for k in range(11, 22) for d in (-1, 0, 1, 77))]:
        b = buffer(nbytes, zero=False)
        assert b.capacity >= nbytes
        assert b.capacity <= nbytes + max(64, nbytes / 8 + 1)


def test_live_drops_at_free_and_peak_stays() -> None:
    start = stats().live
    lib.ndrt_memory_reset_peak()
    b = buffer(1 << 20)
    assert stats().live == start + (1 << 20)
    del b
    after = stats()
    assert after.live == start
    assert after.peak >= start + (1 << 20)
    assert after.cached == 1 << 20
    lib.ndrt_memory_reset_peak()
    assert stats().peak == start
    lib.ndrt_memory_trim()
    assert stats().cached == 0


def test_a_freed_buffer_is_used_again() -> None:
    b = buffer(100_000)
    where = address(b)
    del b
    gc.collect()
    made = stats().allocations
    assert address(buffer(100_001)) == where
    assert stats().allocations == made + 1


def test_over_the_limit_the_longest_unused_go() -> None:
    lib.ndrt_memory_cache_limit(7 << 20)
    for mib in (1, 2, 4, 8, 3):  # 8 alone is too much, and takes all before it along
        b = buffer(mib << 20)
        del b
        gc.collect()
    assert stats().cached == 3 << 20
    for mib in (1, 2, 4):
        b = buffer(mib << 20)
        del b
        gc.collect()
    assert stats().cached == 7 << 20, "3 went, which was unused the longest"
    lib.ndrt_memory_cache_limit(0)
    assert stats().cached == 0


SLACK = 16 << 20  # what the pool keeps beyond the highest use of late
WINDOW = 1 << 14  # allocations


def use_for_two_windows() -> None:
    """The use of late becomes that of now."""
    for _ in range(2 * WINDOW + 2):
        buffer(64, zero=False)


def test_the_pool_keeps_what_was_in_use_of_late() -> None:
    use_for_two_windows()
    base = stats().live
    kept = [buffer(8 << 20, zero=False) for _ in range(6)]
    assert stats().live == base + (48 << 20)
    del kept
    assert stats().cached >= 48 << 20, "the next step of a loop would not find its memory"
    again = [buffer(8 << 20, zero=False) for _ in range(6)]
    assert stats().cached <= SLACK
    del again
    use_for_two_windows()
    assert stats().cached <= SLACK + (1 << 20)


@pytest.mark.parametrize("mib", [0, 3])
def test_the_switch_bounds_the_pool(mib: int) -> None:
    code = ("import ndarray_rt as mx, numpy as np\n"
            "for _ in range(8): mx.nd.ones((1 << 20,), dtype=np.uint8).asnumpy()\n"
            "held = [mx.nd.ones((1 << 20,), dtype=np.uint8) for _ in range(8)]\n"
            "del held\n"
            "print(mx.memory_stats()['cached'])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "NDRT_POOL_MIB": str(mib)})
    assert mib << 20 >= int(done.stdout) >= (mib - 1) << 20


def test_too_much_is_one_clear_error() -> None:
    before = stats().live
    with pytest.raises(OutOfMemory, match="no memory for a buffer of 35184372088832 bytes"):
        buffer(1 << 45)
    with pytest.raises(MemoryError, match="more than an address space"):
        buffer(1 << 62)
    assert stats().live == before


def test_many_threads() -> None:
    start = stats().live

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        kept: list[Any] = []
        for _ in range(400):
            kept.append(buffer(int(rng.integers(0, 300_000)), zero=False))
            if len(kept) > 5:
                kept.pop(int(rng.integers(0, len(kept))))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert stats().live == start


def test_the_failure_hook_fails_once() -> None:
    lib.ndrt_memory_fail_after(2)
    buffer(10)
    buffer(10)
    with pytest.raises(OutOfMemory):
        buffer(10)
    buffer(10)


def sequence() -> None:
    """A bit of everything that allocates."""
    x = Array(desc((2, 1, 8), strides=(31, 29, 1)))
    y = Array(desc((2, 1, 8)))
    prim = Prim(lib.NDRT_REORDER, src=x.desc, dst=y.desc)
    prim.run({lib.NDRT_ARG_SRC: x, lib.NDRT_ARG_DST: y})
    chunk = ffi.new("ndrt_chunk **")
    call(lib.ndrt_chunk_new, chunk, what="chunk")
    try:
        hold = ffi.new("ndrt_new_lockset *")
        call(lib.ndrt_lockset_new, lib.NDRT_LOCKSET_LEASES, 100, [chunk[0]] * 100, bytes(100), hold,
             what="lock set")
        assert lib.ndrt_lockset_take(hold.set)
        lib.ndrt_lockset_free(hold.set)
    finally:
        lib.ndrt_chunk_free(chunk[0])
    plan = ffi.new("ndrt_plan **")
    call(lib.ndrt_plan_new, plan, what="plan")
    try:
        call(lib.ndrt_plan_add_prim, plan[0], prim.ptr, *prim.args({1: x, 17: y}), what="add")
    finally:
        lib.ndrt_plan_free(plan[0])


def test_every_allocation_may_fail() -> None:
    sequence()
    live, descs, prims = stats().live, lib.ndrt_desc_count(), lib.ndrt_prim_count()
    failures = 0
    for n in range(1000):
        lib.ndrt_memory_fail_after(n)
        try:
            sequence()
        except OutOfMemory:
            failures += 1
        else:
            break
        finally:
            lib.ndrt_memory_fail_after(-1)
        gc.collect()
        assert stats().live == live
        assert lib.ndrt_desc_count() == descs
        assert lib.ndrt_prim_count() == prims
    assert failures >= 10, "the sequence has more allocations than that"
    sequence()


def test_freeing_nothing() -> None:
    lib.ndrt_buffer_free(ffi.NULL)
    lib.ndrt_chunk_free(ffi.NULL)
    lib.ndrt_lockset_free(ffi.NULL)
    lib.ndrt_prim_free(ffi.NULL)
    lib.ndrt_plan_free(ffi.NULL)
    assert isinstance(text(lib.ndrt_last_error()), str)
