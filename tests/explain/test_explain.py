"""explain: rows say what runs, and running them leaves no trace."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import MXNetError
from ndarray_rt.executor.explain import Explanation, Row
from ndarray_rt.executor.explain.peak import peak_gflops
from ndarray_rt.model_zoo import symbols
from ndarray_rt.native import ffi, lib
from ndarray_rt.op.dispatch import Dispatched, observe
from ndarray_rt.passes import PASSES
from ndarray_rt.passes.pipeline import LOWERING
from ndarray_rt.symbol.node import topological

SHAPE = (2, 3, 12, 12)


def conv_net() -> Any:
    """Convolution, BatchNorm and Activation, which become one step; pooling; a dense layer."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=20,
                           no_bias=True, name="c")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="b"), act_type="relu", name="r")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p")
    return mx.sym.FullyConnected(x, num_hidden=5, name="f")


def bind(net: Any, grad_req: Any = "null", **shapes: tuple[int, ...]) -> Any:
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, **shapes)
    rng = np.random.default_rng(0)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        array[:] = rng.uniform(0.5 if name.endswith("var") else -1, 1, array.shape)
    return executor


def by_node(found: Explanation) -> dict[str, Row]:
    return {row.node: row for row in found.rows}


# ---- what the rows say --------------------------------------------------------------------------


def test_rows_of_a_small_net() -> None:
    found = bind(conv_net(), data=SHAPE).explain(repeat=2)
    assert [row.node for row in found.rows] == ["r", "p", "f"]
    conv, pool, dense = found.rows
    assert conv.operator == "_fused_Convolution"
    assert conv.fused_from == ("c", "b", "r")
    assert conv.kernel
    assert conv.weights == "folded"
    assert conv.layout_weights not in ("-", "oihw")
    assert conv.layout_in == "default"
    assert conv.layout_out == pool.layout_in != "default"
    assert conv.flops == 2 * 2 * 20 * 12 * 12 * 3 * 9
    assert conv.bytes == 4 * (2 * 3 * 12 * 12 + 20 * 27 + 20 + 2 * 20 * 12 * 12)
    assert conv.shapes == ((2, 20, 12, 12),)
    assert pool.fused_from == ("p",)
    assert (pool.flops, pool.share_of_peak, pool.weights) == (0, None, "-")
    assert dense.flops == 2 * 2 * 5 * 20 * 36
    assert found.edges == [(0, 1), (1, 2)]
    assert all(row.milliseconds > 0 for row in found.rows)
    assert sum(row.share_of_time for row in found.rows) == pytest.approx(1)


def test_reorders_have_layouts_and_bytes() -> None:
    found = bind(conv_net(), data=SHAPE).explain(repeat=1)
    wanted = [reorder for row in found.rows for reorder in row.reorders]
    assert found.totals["reorders"] == len(wanted) > 0
    assert found.totals["reorder_bytes"] == sum(reorder.nbytes for reorder in wanted)
    first = found.rows[0].reorders[0]
    assert (first.source, first.nbytes >= 4 * 2 * 3 * 12 * 12) == ("nchw", True)
    assert first.target != first.source


def test_totals() -> None:
    executor = bind(conv_net(), data=SHAPE)
    totals = executor.explain(repeat=2).totals
    assert (totals["steps"], totals["nodes"], totals["numpy"], totals["reference"]) == (3, 5, 0, 0)
    assert (totals["kept"], totals["fused"]) == (3, 2)
    assert totals["is_replayed"]
    assert totals["capture"] == ["captured"]
    assert totals["threads"] == mx.get_num_threads()
    assert totals["flops"] > 0
    assert 0 < totals["share_of_peak"] < 1.5
    assert totals["activation_bytes"] == executor.inference_plan.planned_bytes


@pytest.mark.parametrize("filters", [20, 32])
@pytest.mark.parametrize(("how", "status"), [("null", "in place"), ("write", "private copy")])
def test_how_weights_were_packed(how: str, status: str, filters: int) -> None:
    """A weight that is trained elsewhere is not converted itself."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=filters, name="c")
    executor = bind(net, {"data": "null", "c_weight": how, "c_bias": "null"}, data=SHAPE)
    row, = executor.explain(repeat=1).rows
    assert row.weights == status
    assert row.layout_weights not in ("-", "oihw")
    found = executor.explain(is_train=True, repeat=1).rows[0]
    assert found.weights == ("in place" if how == "null" else "no")


def test_training_explains_backward_too() -> None:
    executor = bind(conv_net(), "write", data=SHAPE)
    found = executor.explain(is_train=True, repeat=2)
    rows = by_node(found)
    assert rows["c"].fused_from == ("c",)
    assert not rows["c"].is_backward
    back = [row for row in found.rows if row.is_backward]
    assert {row.operator for row in back} >= {"_backward_Convolution", "_backward_BatchNorm"}
    gradient = next(row for row in back if row.operator == "_backward_Convolution")
    assert gradient.flops == 2 * rows["c"].flops
    assert found.totals["kept"] == 5


def test_steps_in_numpy_are_named_with_the_reason() -> None:
    net = mx.sym.Activation(mx.sym.Cast(mx.sym.Variable("data"), dtype="float64", name="cast"),
                            act_type="relu", name="r")
    found = bind(net, data=(4, 5)).explain(repeat=2)
    row = by_node(found)["r"]
    assert row.is_numpy
    assert "float64" in row.kernel
    assert row.share_of_peak is None
    assert found.totals["numpy"] >= 1
    assert found.totals["is_replayed"]
    assert found.totals["capture"] == ["captured"]


@pytest.mark.parametrize("switch", ["NDRT_CAPTURE", "NDRT_ONEDNN"])
def test_without_capture_times_are_those_of_calls(switch: str) -> None:
    executor = bind(conv_net(), data=SHAPE)
    with config.override(**{switch: False}):
        found = executor.explain(repeat=2)
    assert not found.totals["is_replayed"]
    assert "step by step" in str(found)
    assert all(row.milliseconds > 0 for row in found.rows)
    assert found.totals["numpy"] == (0 if switch == "NDRT_CAPTURE" else 5)
    assert executor.explain(repeat=1).totals["is_replayed"]


def test_with_a_monitor_the_bound_graph_is_explained() -> None:
    executor = bind(conv_net(), data=SHAPE)
    seen: list[str] = []
    executor.set_monitor_callback(lambda name, _: seen.append(name))
    assert [row.node for row in executor.explain(repeat=1).rows] == ["c", "b", "r", "p", "f"]
    assert "c_output" in seen

    errors: list[str] = []

    def explain_inside(name: str, _: Any) -> None:
        try:
            executor.explain()
        except MXNetError as error:
            errors.append(str(error))
    executor.set_monitor_callback(explain_inside)
    executor.forward()
    assert "running in this very thread" in errors[0]


def test_a_graph_without_steps() -> None:
    found = bind(mx.sym.Variable("data"), data=(2, 3)).explain()
    assert (list(found.rows), found.totals["milliseconds"]) == ([], 0)
    assert "0 steps" in str(found)


# ---- what it leaves behind ----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["write", "add"])
def test_training_state_is_as_before(how: str) -> None:
    net = mx.sym.Dropout(conv_net(), p=0.5, name="d")
    executor = bind(net, how, data=SHAPE)
    mx.random.seed(7)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 5)))
    arrays = {**executor.arg_dict, **executor.aux_dict,
              **{f"grad of {n}": a for n, a in executor.grad_dict.items()}}
    before = {name: array.asnumpy().tobytes() for name, array in arrays.items()}
    executor.explain(is_train=True, repeat=2)
    assert {name: array.asnumpy().tobytes() for name, array in arrays.items()} == before
    with pytest.raises(MXNetError, match="backward needs a forward"):
        executor.backward(mx.nd.ones((2, 5)))
    after = executor.forward(is_train=True)[0].asnumpy()
    other = bind(net, how, data=SHAPE)
    mx.random.seed(7)
    other.forward(is_train=True)
    assert other.forward(is_train=True)[0].asnumpy().tobytes() == after.tobytes()


def test_optimizer_steps_in_the_graph_do_not_count() -> None:
    net = mx.sym.sgd_mom_update(mx.sym.Variable("w"), mx.sym.Variable("g"), mx.sym.Variable("m"),
                                lr=0.1, momentum=0.9)
    executor = bind(net, w=(4,), g=(4,), m=(4,))
    momentum = {**executor.arg_dict, **executor.aux_dict}["m"]
    before = momentum.asnumpy()
    executor.explain(repeat=3)
    np.testing.assert_array_equal(momentum.asnumpy(), before)
    executor.forward()
    assert (momentum.asnumpy() != before).any()


def test_inference_stays_captured_and_right() -> None:
    executor = bind(conv_net(), data=SHAPE)
    wanted = executor.forward()[0].asnumpy()
    for _ in range(5):
        rows = executor.explain(repeat=1).rows
        assert executor.capture_state == "captured"
        own = sum(row.kernel.startswith("ndrt:") for row in rows)
        runs = executor.counters["primitives"]
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), wanted)
        assert executor.counters["primitives"] == runs + 3 - own
    executor.arg_dict["data"][:] = 0
    executor.arg_dict["f_bias"][:] = 3
    got = executor.forward()[0].asnumpy()
    with config.override(NDRT_CAPTURE=False, NDRT_SKIP_PASSES="all"):
        np.testing.assert_allclose(got, executor.forward()[0].asnumpy(), rtol=1e-5)


def test_an_observer_that_bears_replays_is_told_of_all_other_runs() -> None:
    executor = bind(conv_net(), data=SHAPE)
    told: list[Dispatched] = []
    stop = observe(told.append, replays=True)
    try:
        for count in (4, 7, 7, 7):  # settled (with the prologue), recorded, replayed
            executor.forward()
            assert len(told) == count
    finally:
        stop()
    stop = observe(told.append)
    try:
        executor.forward()
    finally:
        stop()
    assert len(told) == 10


# ---- forms --------------------------------------------------------------------------------------


def test_as_text() -> None:
    text = str(bind(conv_net(), data=SHAPE).explain(repeat=1))
    head, rule, *lines = text.splitlines()
    assert head.split()[:3] == ["node", "operator", "dtype"]
    assert set(rule) == {"-", " "}
    assert lines[0].endswith("c, b, r")
    total = next(line for line in lines if line.startswith("total"))
    assert "3 steps" in total
    assert "0 in numpy, 0 reference" in total
    assert "replayed from a recording" in text
    assert "multiply-adds in registers" in text
    assert "5 nodes as bound: 3 kept, 2 fused" in text


def test_as_dict_is_json() -> None:
    found = bind(conv_net(), data=SHAPE).explain(repeat=1)
    back = json.loads(json.dumps(found.as_dict()))
    assert back["rows"][0]["fused_from"] == ["c", "b", "r"]
    assert back["rows"][0]["reorders"][0]["source"] == "nchw"
    assert back["edges"] == [[0, 1], [1, 2]]
    assert back["origins"]["c"] == ["fused", "r"]
    assert back["totals"]["steps"] == 3


# ---- one pass -----------------------------------------------------------------------------------


def test_one_pass_before_and_after() -> None:
    executor = bind(conv_net(), data=SHAPE)
    text = executor.explain("fold_batch_norms")
    before, after = text.split("after:")
    assert "BatchNorm b(" in before
    assert "_fold_batch_norm b_folded(" in after
    assert executor.explain("merge_equal_nodes") == "merge_equal_nodes changed nothing"


def test_a_pass_that_is_switched_off_or_unknown() -> None:
    executor = bind(conv_net(), data=SHAPE)
    with config.override(NDRT_SKIP_PASSES="fuse_post_ops"):
        assert "did not run: NDRT_SKIP_PASSES" in executor.explain("fuse_post_ops")
    with pytest.raises(MXNetError, match=r"'fuse' is no pass; there are: .*fold_batch_norms"):
        executor.explain("fuse")


def test_every_pass_can_be_asked_for_where_none_changes_anything() -> None:
    executor = bind(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4), data=(2, 3))
    assert str(executor.inference_plan) == str(executor.plan)
    for name in PASSES:
        assert executor.explain(name) == (
            f"{name} changed nothing" if name != LOWERING
            else f"{name} did not run: it is for the precision 'bfloat16'")


# ---- whole networks -----------------------------------------------------------------------------

ZOO = {"resnet18_v1": 64, "resnet18_v2": 64, "mobilenet0.25": 64, "mobilenetv2_0.25": 64,
       "squeezenet1.1": 224, "googlenet": 224, "densenet121": 224}


@pytest.mark.parametrize("name", ZOO)
def test_networks_have_no_slow_step_and_all_nodes_are_accounted_for(name: str) -> None:
    net = symbols.get_symbol(name, classes=10)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(1, 3, ZOO[name], ZOO[name]))
    found = executor.explain(repeat=1)
    totals = found.totals
    assert (totals["numpy"], totals["reference"]) == (0, 0)
    assert totals["is_replayed"]
    nodes = [node.name for node in topological(net.entries) if node.op is not None]
    assert list(found.origins) == nodes
    done = [name for row in found.rows for name in row.fused_from]
    gone = [name for name, (fate, _) in found.origins.items()
            if fate in ("dropped", "merged", "folded")]
    assert sorted(done + gone) == sorted(nodes)
    steps = {step.node.name for step in executor.inference_plan.steps}
    assert {into for fate, into in found.origins.values() if fate in ("kept", "fused")} <= steps
    assert all(row.fused_from for row in found.rows)


# ---- the peak -----------------------------------------------------------------------------------


def test_the_peak_is_measured_once_for_a_number_of_threads() -> None:
    peak_gflops.cache_clear()
    first = peak_gflops(1)
    assert first > 1
    assert peak_gflops(1) == first
    peak_gflops(2)
    assert peak_gflops.cache_info().misses == 2
    assert lib.ndrt_peak_measure(0, ffi.new("double *")) == lib.NDRT_INVALID
