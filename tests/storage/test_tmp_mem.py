"""TmpMemMgr: one buffer, pieces of it, and what it learns."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from ndarray_rt.storage.desc import default_desc
from ndarray_rt.storage.handle import memory_stats
from ndarray_rt.storage.stream import StaleMemory, Stream
from ndarray_rt.storage.tmp_mem import ALIGNMENT, TmpMemMgr, align_up

F32 = np.dtype(np.float32)


def address(ptr: object) -> int:
    from ndarray_rt.native import ffi
    return int(ffi.cast("intptr_t", ptr))


def test_align_up() -> None:
    assert [align_up(n) for n in (0, 1, 64, 65)] == [0, 64, 64, 128]


def test_the_estimate_is_what_one_operator_needed() -> None:
    tmp = TmpMemMgr()
    tmp.init()
    tmp.alloc(100)
    tmp.alloc(1000)
    assert tmp.estimate == align_up(100) + 1000
    tmp.reset()
    tmp.alloc(50)
    assert tmp.estimate == align_up(100) + 1000, "the largest operator counts, not the last"


def test_a_run_of_known_size_needs_one_buffer() -> None:
    tmp = TmpMemMgr()
    sizes = (100, 1000, 7)
    for size in sizes:
        tmp.alloc(size)
    tmp.init()
    made = memory_stats()["allocations"]
    pieces = [tmp.alloc(size) for size in sizes]
    assert memory_stats()["allocations"] == made
    places = [address(ptr) for ptr, _ in pieces]
    assert all(place % ALIGNMENT == 0 for place in places)
    for (a, size), b in zip(zip(places, sizes, strict=True), places[1:], strict=False):
        assert b >= a + size, "pieces overlap"
    assert len({id(owner) for _, owner in pieces}) == 1


def test_a_piece_that_does_not_fit_gets_its_own_buffer() -> None:
    tmp = TmpMemMgr(estimate=256)
    tmp.init()
    held = tmp.nbytes
    first, owner = tmp.alloc(128)
    ptr, extra = tmp.alloc(4096)
    assert extra is not owner
    assert tmp.nbytes == held + 4096
    # the earlier piece stays where it is
    assert owner.address <= address(first) < owner.address + owner.nbytes
    del ptr, extra
    tmp.reset()
    assert tmp.nbytes == held
    tmp.init()
    assert tmp.nbytes >= 128 + 4096


def test_a_keeping_manager_gives_nothing_back() -> None:
    tmp = TmpMemMgr(estimate=1024, keep=True)
    first, _ = tmp.alloc(512)
    assert address(tmp.alloc(512)[0]) == address(first) + 512
    tmp.reset()
    assert address(tmp.alloc(512)[0]) == address(first)
    large, _ = tmp.alloc(1 << 16)
    held = tmp.nbytes
    assert held >= 1024 + (1 << 16), "a buffer that a plan points into was given back"
    tmp.reset()
    tmp.init()
    tmp.release()
    # all that follows lies in the larger one
    for size in range(512, 1 << 16, 512):
        tmp.reset()
        assert address(tmp.alloc(size)[0]) <= address(large)
        assert tmp.nbytes == held


def test_operators_that_need_a_little_more_each_cost_few_buffers() -> None:
    tmp = TmpMemMgr(keep=True)
    for size in range(1 << 12, 1 << 16, 64):
        tmp.reset()
        tmp.alloc(size)
    assert tmp.nbytes < 6 << 16


def test_nothing_is_held_after_release() -> None:
    gc.collect()
    before = memory_stats()["live"]
    tmp = TmpMemMgr()
    tmp.alloc(5000)
    tmp.init()
    tmp.alloc(3000)
    tmp.release()
    assert memory_stats()["live"] == before
    assert tmp.estimate == 5000


def test_memory_of_an_earlier_operator_is_refused() -> None:
    stream = Stream()
    stream.begin_operator()
    desc = default_desc(F32, (4,))
    old = stream.scratch(desc)
    stream.begin_operator()
    new = stream.scratch(desc)
    from ndarray_rt.storage.kernels.elementwise import copy
    with pytest.raises(StaleMemory, match="earlier operator call"):
        stream.kernel(copy(out=new, data=old, nbytes=16))
    from ndarray_rt.storage.reorder import REORDERS
    with pytest.raises(StaleMemory):
        stream.reorder(REORDERS.get(desc, desc), old, new)
