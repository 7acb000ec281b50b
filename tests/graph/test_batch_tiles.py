"""First layers in tiles of the batch: the same numbers, at their places, in less memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.executor.program.bound_graph import infer_facts
from ndarray_rt.executor.program.plan import Kind, Step
from ndarray_rt.executor.tiles import batch as batch_tiles
from ndarray_rt.op.choose import prefers_channels_last

CACHE = 4096


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_tiles, "shared_cache_bytes", lambda: CACHE)


def conv(data: mx.sym.Symbol, filters: int, kernel: int = 1, **attrs: Any) -> mx.sym.Symbol:
    return mx.sym.Convolution(data, kernel=(kernel, kernel), num_filter=filters,
                              pad=(kernel // 2, kernel // 2), **attrs)


def network(classes: int = 3) -> mx.sym.Symbol:
    """Two layers that are worth tiles, a branch with a sum, then a layer with large weights."""
    net = mx.sym.Variable("data")
    net = mx.sym.relu(conv(net, 16, 3, name="c0"), name="r0")
    net = mx.sym.relu(net + conv(net, 16, name="c1"), name="r1")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p0")
    net = mx.sym.relu(mx.sym.Convolution(net, kernel=(6, 6), num_filter=64, name="c2"), name="r2")
    return mx.sym.FullyConnected(net, num_hidden=classes, name="fc")


def bound(symbol: mx.sym.Symbol, shape: tuple[int, ...], seed: int = 0) -> mx.executor.Executor:
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=shape)
    random = np.random.default_rng(seed)
    for array in {**executor.arg_dict, **executor.aux_dict}.values():
        array[:] = random.normal(size=array.shape, scale=0.5).astype(np.float32)
    return executor


def untiled(symbol: mx.sym.Symbol, executor: mx.executor.Executor) -> list[np.ndarray[Any, Any]]:
    """What an executor without tiles gives for the same arrays."""
    with mx.config.override(NDRT_BATCH_TILES=False):
        other = symbol.bind(mx.cpu(), executor.arg_dict, aux_states=executor.aux_dict,
                            grad_req="null")
        return [out.asnumpy() for out in other.forward()]


def check(symbol: mx.sym.Symbol, executor: mx.executor.Executor) -> None:
    expected = untiled(symbol, executor)
    for out, wanted in zip(executor.forward(), expected, strict=True):
        np.testing.assert_allclose(out.asnumpy(), wanted, rtol=2e-5, atol=2e-5)


def tiles(executor: mx.executor.Executor) -> dict[str, int]:
    """How many tiles each node of the plan has."""
    found: dict[str, int] = {}
    for step in executor.inference_plan.steps:
        if step.tile_of is not None:
            found[step.node.name] = found.get(step.node.name, 0) + 1
    return found


def joins(executor: mx.executor.Executor) -> list[Step]:
    return [step for step in executor.inference_plan.steps if step.node.name.endswith("_tiles")]


def test_first_layers_run_in_tiles_and_later_ones_do_not() -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    for _ in range(4):
        check(symbol, executor)
    assert executor.capture_state == "captured"
    found = tiles(executor)
    assert set(found.values()) == {4}
    assert not {"r2", "fc"} & set(found)
    with mx.config.override(NDRT_BATCH_TILES=False):
        whole = bound(symbol, (4, 3, 12, 12)).inference_plan
    assert executor.inference_plan.arena_bytes < whole.arena_bytes


def test_results_of_tiles_lie_where_they_are_joined() -> None:
    executor = bound(network(), (4, 3, 12, 12))
    (join,) = joins(executor)
    values = executor.inference_plan.values
    whole = values[join.outs[0]]
    assert [values[i].within for i in join.ins] == [
        (whole.index, i * whole.nbytes // 4) for i in range(4)]
    executor.forward()
    row = next(row for row in executor.explain().rows if row.node == join.node.name)
    assert (row.kernel, len(row.reorders)) == ("memory only", 0)


def test_explain_shows_a_node_once_for_all_its_tiles() -> None:
    executor = bound(network(), (4, 3, 12, 12))
    executor.forward()
    with mx.config.override(NDRT_BATCH_TILES=False):
        whole = bound(network(), (4, 3, 12, 12))
        whole.forward()
        expected = {row.node: row for row in whole.explain().rows}
    found = executor.explain()
    assert found.totals["steps"] == len(executor.inference_plan.steps)
    rows = {row.node: row for row in found.rows if not row.node.endswith("_tiles")}
    assert rows.keys() == expected.keys()
    for name, row in rows.items():
        assert (row.shapes, row.flops) == (expected[name].shapes, expected[name].flops)
        assert row.tiles == tiles(executor).get(name, 1)
    assert f"4 x {next(iter(tiles(executor)))}" in str(found)


def test_what_changes_between_runs_is_seen() -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    for _ in range(3):
        executor.forward()
    for name in ("data", "c1_weight"):
        executor.arg_dict[name][:] = 0.25
        check(symbol, executor)
    given = np.random.default_rng(1).normal(size=(4, 3, 12, 12)).astype(np.float32)
    executor.forward(data=given)
    np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), given)
    check(symbol, executor)


@pytest.mark.parametrize("shape", [(1, 3, 12, 12), (5, 3, 12, 12), (12, 3, 12, 12), (0, 3, 12, 12)])
def test_other_batches(shape: tuple[int, ...]) -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    executor.forward()
    other = executor.reshape(allow_up_sizing=True, data=shape)
    for _ in range(3):
        check(symbol, other)
    assert set(tiles(other).values()) == ({shape[0]} if shape[0] > 1 else set())


def test_clones_and_shared_memory() -> None:
    symbol = network()
    executor = bound(symbol, (4, 3, 12, 12))
    executor.forward()
    check(symbol, executor.clone())
    other = symbol.bind(mx.cpu(), executor.arg_dict, grad_req="null", shared_exec=executor)
    for _ in range(3):
        check(symbol, other)
        check(symbol, executor)


def test_data_may_be_normalized_first() -> None:
    """As in residual networks of the second kind; the statistics are nobody's output."""
    data = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    net = conv(mx.sym.relu(conv(data, 16, 3, name="c0")), 16, 3, name="c1")
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1))
    for shape in ((4, 3, 12, 12), (3, 3, 12, 12)):  # as many samples as channels, too
        executor = bound(net, shape)
        before = {n: a.asnumpy() for n, a in executor.aux_dict.items()}
        for _ in range(3):
            check(net, executor)
        assert tiles(executor)["bn"] == shape[0]
        for name, value in before.items():
            np.testing.assert_array_equal(executor.aux_dict[name].asnumpy(), value)
    whole = mx.sym.BatchNorm(mx.sym.Variable("data"), output_mean_var=True, name="bn")
    net = mx.sym.Group([conv(whole[0], 16, 3, name="c0"), whole[1]])
    executor = bound(net, (4, 3, 12, 12))
    check(net, executor)
    assert not tiles(executor)


def test_tiles_need_the_memory_plan() -> None:
    symbol = network()
    with mx.config.override(NDRT_PLAN_MEMORY=False):
        executor = bound(symbol, (4, 3, 12, 12))
        assert not tiles(executor)
        check(symbol, executor)


def test_data_in_a_layout_of_its_own() -> None:
    """The tiles are views of the bound array, whatever that is in."""
    symbol = network()
    executor = bound(symbol, (4, 16, 12, 12))
    source = mx.nd.array(np.random.default_rng(0).normal(size=(4, 16, 12, 12)))
    one = mx.nd.Convolution(source, mx.nd.ones((16, 16, 1, 1)), no_bias=True, kernel=(1, 1),
                            num_filter=16)
    args = {**executor.arg_dict, "data": one}
    executor = symbol.bind(mx.cpu(), args, grad_req="null")
    for _ in range(3):
        check(symbol, executor)


@pytest.mark.parametrize("classes", [1, 4])
def test_an_operand_with_a_batch_of_its_own_is_not_tiled(classes: int) -> None:
    """A parameter of the batch's size stays whole: nothing may be computed against a tile."""
    net = conv(mx.sym.Variable("data"), 16, 3, name="c0")
    net = mx.sym.elemwise_add(net, mx.sym.Variable("offset", shape=(4, 16, 12, 12)), name="sum")
    net = conv(mx.sym.relu(net), 16, 3, name="c1")
    executor = bound(net, (4, 3, 12, 12))
    for _ in range(3):
        check(net, executor)
    assert "sum" not in tiles(executor)


@pytest.mark.skipif(not prefers_channels_last(), reason="there is nothing to tune here")
def test_tuning_tries_sizes_of_tiles(tmp_path: Path) -> None:
    symbol = network()
    executor = bound(symbol, (8, 3, 12, 12))
    try:
        found = executor.tune(repeat=2)
        names = set(found.milliseconds)
        assert {name.rpartition(" in tiles of ")[2] for name in names if " in " in name} >= {
            "1", "2", "4"}
        assert names & {"channels-last", "blocked", "mixed"}
        check(symbol, executor)
        plan = executor.inference_plan
        mx.executor.save_tuning(tmp_path / "tuned.json")
        mx.executor.clear_tuning()
        mx.executor.load_tuning(tmp_path / "tuned.json")
        again = bound(symbol, (8, 3, 12, 12))
        assert tiles(again) == tiles(executor)
        assert [s.variant for s in again.inference_plan.steps] == [s.variant for s in plan.steps]
        check(symbol, again)
    finally:
        mx.executor.clear_tuning()


@pytest.mark.parametrize("tiling", [(0, 0), (0, 1), (3, 3), (3, 8), (1000, 1), (10, 1)])
def test_a_tiling_that_is_not_of_the_graph_is_none(tiling: tuple[int, int]) -> None:
    symbol = network()
    heads = symbol.entries
    executor = bound(symbol, (8, 3, 12, 12))
    facts = infer_facts(heads, {n: a.shape for n, a in executor.arg_dict.items()},
                        {n: a.dtype for n, a in executor.arg_dict.items()})
    tiled = batch_tiles.tile_batches(heads, facts, batch_tiles.Tiling(*tiling))
    assert (tiled.heads, tiled.parts) == (heads, {})


@st.composite
def networks(draw: st.DrawFn) -> mx.sym.Symbol:
    """Convolutions with branches that meet in sums and concats, pooling between."""
    net = mx.sym.Variable("data")
    channels, size = 3, 8
    for i in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["conv", "sum", "concat", "pool", "depthwise"]))
        filters = draw(st.sampled_from([8, 16, 20]))
        if kind == "conv":
            net = mx.sym.relu(conv(net, filters, draw(st.sampled_from([1, 3])), name=f"c{i}"))
            channels = filters
        elif kind == "depthwise":
            net = conv(net, channels, 3, num_group=channels, name=f"d{i}")
        elif kind == "sum":
            net = mx.sym.clip(net + conv(net, channels, name=f"c{i}"), a_min=0, a_max=6)
        elif kind == "concat":
            net = mx.sym.Concat(conv(net, 16, name=f"a{i}"), conv(net, filters, 3, name=f"b{i}"),
                                dim=1)
            channels = 16 + filters
        elif size > 2:
            net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2),
                                 pool_type=draw(st.sampled_from(["max", "avg"])))
            size //= 2
    return conv(net, 8, name="last") if draw(st.booleans()) else net


@settings(max_examples=60)
@given(networks(), st.integers(2, 6), st.sampled_from([1, 1 << 14, 1 << 16]),
       st.sampled_from(["channels-last", "blocked"]))
def test_random_networks(symbol: mx.sym.Symbol, batch: int, cache: int, variant: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_tiles, "shared_cache_bytes", lambda: cache)
        patch.setattr("ndarray_rt.executor.program.inference.plan_layouts",
                      lambda nodes, *facts: dict.fromkeys(
                          [n for n in nodes if n.op is not None
                           and "Convolution" in n.op.name], variant))
        executor = bound(symbol, (batch, 3, 8, 8))
        for _ in range(3):
            check(symbol, executor)


@pytest.mark.parametrize(("filters", "in_place"), [(16, True), (20, False)])
def test_one_samples_concat_in_blocks_of_channels_moves_nothing(
        filters: int, in_place: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a dense block: each layer's channels are put behind all before."""
    net = conv(mx.sym.Variable("data"), 32, 3, name="c0")
    for i in range(3):
        net = mx.sym.Concat(net, conv(mx.sym.relu(net), filters, 3, name=f"d{i}"), dim=1,
                            name=f"cat{i}")
    net = conv(net, 16, name="last")
    monkeypatch.setattr("ndarray_rt.executor.program.inference.plan_layouts",
                        lambda nodes, *facts: dict.fromkeys(
                            [n for n in nodes if n.op is not None
                             and "Convolution" in n.op.name], "blocked"))
    executor = bound(net, (1, 3, 12, 12))
    for _ in range(3):
        check(net, executor)
    kernels = {row.node: row.kernel for row in executor.explain().rows}
    assert [kernels[f"cat{i}"] == "memory only" for i in range(3)] == [in_place] * 3
    assert not any(kernel.startswith("numpy") for kernel in kernels.values())
    parts = [v for v in executor.inference_plan.values if v.within is not None]
    assert bool(parts) == in_place
    assert all(v.kind is Kind.PLANNED for v in parts)
