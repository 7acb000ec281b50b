"""Tiles that run at once, a thread each: the same bits, in memory of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.executor.program.plan import Plan
from ndarray_rt.executor.tiles import batch as batch_tiles
from ndarray_rt.executor.tiles.lanes import teams
from ndarray_rt.native import lib
from tests.graph.test_batch_tiles import bound, check, conv, network, networks, untiled


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_tiles, "shared_cache_bytes", lambda: 4096)


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = mx.get_num_threads()
    mx.set_num_threads(2)
    yield
    mx.set_num_threads(before)


def check_memory(plan: Plan) -> None:
    """No two storages that live at once overlap: those of lanes of one team all do."""
    number = {i: (step.team, step.lane) for i, step in enumerate(plan.steps)}
    touched: dict[int, set[int]] = {}
    for i, step in enumerate(plan.steps):
        for index in (*step.ins, *step.outs):
            value = plan.values[index]
            if value.storage >= 0:
                touched.setdefault(value.storage, set()).add(i)

    def at_once(a: set[int], b: set[int]) -> bool:
        # a team is one moment for all that more than one of its lanes have to do with
        if min(a) <= max(b) and min(b) <= max(a):
            return True
        return any(number[i][0] >= 0 and number[i][0] == number[j][0] and number[i] != number[j]
                   for i in a for j in b)
    for a, of_a in touched.items():
        for b, of_b in touched.items():
            one, other = plan.storages[a], plan.storages[b]
            if a < b and one.inside is None and other.inside is None and at_once(of_a, of_b):
                assert not one.overlaps(other), (plan.steps[min(of_a)], plan.steps[min(of_b)])


def test_tiles_are_lanes_of_teams() -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    plan = executor.inference_plan
    assert plan.lanes == 2
    found = teams(plan.steps)
    assert len(found) == 2
    assert all(len(team.ends) == 2 for team in found)
    check_memory(plan)
    for _ in range(4):
        check(symbol, executor)
    assert executor.capture_state == "captured"


def test_the_bits_are_those_of_one_thread() -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    made = [executor.forward()[0].asnumpy() for _ in range(4)]
    mx.set_num_threads(1)
    alone = bound(symbol, (4, 3, 12, 12))
    assert alone.inference_plan.lanes == 1
    for out in made:
        np.testing.assert_array_equal(out, alone.forward()[0].asnumpy())


@pytest.mark.parametrize("threads", [1, 3, 4])
def test_another_number_of_threads(threads: int) -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    for count in (2, threads, 2):
        mx.set_num_threads(count)
        for _ in range(4):
            check(symbol, executor)
        assert executor.capture_state == "captured"


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 6, 16])
def test_batches_that_teams_can_not_share_have_none(batch: int) -> None:
    symbol = network()
    executor = bound(symbol, (batch, 3, 12, 12))
    assert executor.inference_plan.lanes == (2 if batch % 2 == 0 else 1)
    for _ in range(3):
        check(symbol, executor)


def test_without_capture_there_are_none() -> None:
    symbol = network()
    with mx.config.override(NDRT_CAPTURE=False):
        executor = bound(symbol, (4, 3, 12, 12))
        assert executor.inference_plan.lanes == 1
        check(symbol, executor)
    executor = bound(symbol, (4, 3, 12, 12))
    check(symbol, executor)
    with mx.config.override(NDRT_CAPTURE=False):
        check(symbol, executor)
    for _ in range(3):
        check(symbol, executor)
    assert executor.capture_state == "captured"


def test_what_another_step_computes_is_read_by_no_lane() -> None:
    """A reader may convert it, and others read it at the same time."""
    hidden = mx.sym.FullyConnected(mx.sym.Variable("condition", shape=(1, 5)), num_hidden=16,
                                   name="hidden")
    net = mx.sym.Convolution(mx.sym.Variable("data"), mx.sym.Variable("weight"),
                             mx.sym.reshape(hidden, shape=(-1,)), kernel=(3, 3), pad=(1, 1),
                             num_filter=16, name="read")
    # as an output it is computed in each run
    net = mx.sym.Group([conv(net, 16, 3, name="behind"), hidden])
    executor = bound(net, (4, 3, 12, 12))
    for _ in range(4):
        check(net, executor)
    assert "read" in {step.tile_of.name for step in executor.inference_plan.steps if step.tile_of}
    assert executor.inference_plan.lanes == 1


def test_executors_that_share_memory_and_weights() -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    executor.forward()
    other = executor.reshape(allow_up_sizing=True, data=(8, 3, 12, 12))
    other.arg_dict["data"][:] = 0.5
    clone = executor.clone()
    for _ in range(3):
        for one in (executor, other, clone):
            check(symbol, one)
    assert other.capture_state == "captured"


def test_explain_has_the_time_of_each_tile() -> None:
    executor = bound(network(), (4, 3, 12, 12))
    for _ in range(3):
        executor.forward()
    found = executor.explain()
    assert all(row.milliseconds >= 0 for row in found.rows)
    assert any(row.tiles == 4 and row.milliseconds > 0 for row in found.rows)


def test_running_out_of_memory_leaves_nothing_behind() -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    wanted = untiled(symbol, executor)[0]
    failed = 0
    for n in range(0, 400, 3):
        one = symbol.bind(mx.cpu(), executor.arg_dict, grad_req="null")
        one.forward()
        lib.ndrt_memory_fail_after(n)
        try:
            one.forward()
        except (mx.MXNetError, MemoryError):
            failed += 1
        finally:
            lib.ndrt_memory_fail_after(-1)
        assert lib.ndrt_threads_get() == 2
        for _ in range(3):
            np.testing.assert_allclose(one.forward()[0].asnumpy(), wanted, rtol=2e-5, atol=2e-5)
    assert failed


@settings(max_examples=40)
@given(networks(), st.sampled_from([2, 4, 6, 8]), st.sampled_from([1, 1 << 14, 1 << 16]))
def test_random_networks(symbol: mx.sym.Symbol, batch: int, cache: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_tiles, "shared_cache_bytes", lambda: cache)
        executor = bound(symbol, (batch, 3, 8, 8))
        if executor.inference_plan is not None:
            check_memory(executor.inference_plan)
        for _ in range(3):
            check(symbol, executor)
