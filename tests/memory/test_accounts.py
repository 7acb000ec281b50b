"""Live and peak bytes of each session: who made the memory holds it, until it is freed."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.op.prim_cache import CACHE
from ndarray_rt.storage.account import Account
from ndarray_rt.storage.chunk import Chunk
from ndarray_rt.storage.handle import Handle

MIB = 1 << 20
U1 = np.dtype(np.uint8)


@pytest.fixture(autouse=True)
def _empty_pool() -> None:
    """A kept buffer may be larger than what is asked for, and counts as what it is."""
    mx.trim()


def sessions() -> Any:
    gc.collect()
    return mx.memory_stats()["sessions"]


def net() -> Any:
    y = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=512, name="first")
    y = mx.sym.Activation(y, act_type="relu")
    return mx.sym.FullyConnected(y, num_hidden=64, name="second")


def name_of(executor: Any) -> str:
    (name,) = [n for n in sessions() if n.startswith("executor")
               and n.endswith(f": {executor.symbol.list_outputs()[0]}")]
    return str(name)


def test_arrays_of_users() -> None:
    before = sessions()["arrays"]["live"]
    array = mx.nd.zeros((MIB,), dtype=np.uint8)
    array.asnumpy()
    assert sessions()["arrays"]["live"] == before + MIB
    view = array[10:20]
    assert sessions()["arrays"]["live"] == before + MIB, "a view has no bytes"
    del array, view
    assert sessions()["arrays"]["live"] == before


@pytest.mark.parametrize("again", [True, False])
def test_an_interrupted_block_does_not_charge_for_ever(again: bool) -> None:
    """An interrupt may come before the first line of `__exit__`."""
    account = Account("interrupted")
    account.__enter__()
    if again:
        with account:
            pass
    del account
    before = sessions()["arrays"]["live"]
    array = mx.nd.zeros((MIB,), dtype=np.uint8)
    array.asnumpy()
    assert sessions()["arrays"]["live"] == before + MIB


def test_the_sum_of_sessions_is_what_is_live() -> None:
    executor = net().simple_bind(data=(32, 64))
    executor.forward(is_train=True, data=np.ones((32, 64), np.float32))
    executor.backward(mx.nd.ones((32, 64)))
    stats = mx.memory_stats()
    assert sum(part["live"] for part in stats["sessions"].values()) == stats["live"]
    assert stats["sessions"][name_of(executor)] == executor.memory_stats


def test_an_executor_holds_its_arena_once_and_not_the_bound_arrays() -> None:
    executor = net().simple_bind(data=(32, 64), grad_req="null")
    assert executor.memory_stats["live"] == 0, "memory is taken when a run needs it"
    arena = executor.inference_plan.arena_bytes
    assert arena > 0
    held = executor.memory_stats["live"]
    assert arena <= held <= arena * 1.125 + 64, "spans are parts of the arena"
    before = sessions()["arrays"]["live"]
    executor.arg_dict["first_weight"][:] = 1  # taken only now
    assert sessions()["arrays"]["live"] - before == 512 * 64 * 4
    assert executor.memory_stats["live"] == held


def test_bytes_come_back_and_outputs_outlive_their_session() -> None:
    gc.collect()
    before = mx.memory_stats()["live"]
    executor = net().simple_bind(data=(32, 64), grad_req="null")
    outputs = executor.forward()
    name = name_of(executor)
    del executor
    assert name not in sessions()
    stats = mx.memory_stats()
    assert stats["live"] > sum(part["live"] for part in stats["sessions"].values())
    assert outputs[0].shape == (32, 64)
    del outputs
    gc.collect()
    CACHE.clear_released()
    assert mx.memory_stats()["live"] == before


def test_packed_weights_and_conversions() -> None:
    """A private copy is the executor's; a weight converted in place stays the user's."""
    weight = mx.nd.array(np.ones((48, 48, 3, 3), np.float32))
    symbol = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=48,
                                no_bias=True, name="conv")
    data = mx.nd.ones((1, 48, 8, 8))
    executor = symbol.bind(mx.cpu(), {"data": data, "conv_weight": weight}, grad_req="null")
    arena = executor.memory_stats["live"]
    for _ in range(3):
        executor.forward()
    assert weight.is_mkldnn
    # with AVX2 the scratch of the two differs
    scratch = executor.memory_stats["live"] - arena if has_avx512() else 0
    pinned = mx.nd.array(np.ones((48, 48, 3, 3), np.float32))
    export = pinned.__array__(copy=False)
    other = symbol.bind(mx.cpu(), {"data": data, "conv_weight": pinned}, grad_req="null")
    for _ in range(3):
        other.forward()
    assert other.memory_stats["live"] - arena >= scratch + 48 * 48 * 9 * 4
    assert not pinned.is_mkldnn
    assert export[0, 0, 0, 0] == 1


def test_peaks_and_their_reset() -> None:
    executor = net().simple_bind(data=(32, 64), grad_req="null")
    executor.forward()
    big = mx.nd.zeros((4 * MIB,), dtype=np.uint8)
    big.asnumpy()
    del big
    gc.collect()
    stats = mx.memory_stats()
    assert stats["sessions"]["arrays"]["peak"] >= stats["sessions"]["arrays"]["live"] + 4 * MIB
    mx.reset_peak()
    stats = mx.memory_stats()
    assert stats["peak"] == stats["live"]
    for name, part in stats["sessions"].items():
        assert part["peak"] == part["live"], name


def test_growth_and_frees_anywhere_stay_with_the_maker() -> None:
    account = Account("test")
    with account:
        chunk = Chunk((1000,), U1)
        handle = Handle(MIB)
    assert account.read()["live"] == MIB, "memory is taken when it is needed"
    assert chunk.handle.nbytes == 1000
    chunk.check_and_alloc(2 * MIB)
    assert account.read() == {"live": 3 * MIB, "peak": 3 * MIB + 1024}
    holder = [handle, chunk]
    del handle, chunk
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    assert account.read()["live"] == 0


def test_accounts_nest_and_survive_exceptions() -> None:
    outer, inner = Account("outer"), Account("inner")
    with outer:
        with inner:
            first = Handle(64)
        with pytest.raises(MemoryError), inner:
            Handle(1 << 60)
        second = Handle(128)
    third = Handle(256)
    assert inner.read()["live"] == 64
    assert outer.read()["live"] == 128
    assert {"outer", "inner"} <= set(sessions())
    del first, second, third, outer, inner
    assert not {"outer", "inner"} & set(sessions())


def test_memory_of_others_is_not_counted() -> None:
    theirs = np.zeros(MIB, np.float32)
    before = mx.memory_stats()
    array = mx.nd.from_numpy(theirs)
    assert mx.memory_stats()["live"] == before["live"]
    assert mx.memory_stats()["allocations"] == before["allocations"]
    assert array.shape == (MIB,)
