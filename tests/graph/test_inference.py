"""Inference programs: what the passes make of a bound graph, and what it is computed from."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import MXNetError
from ndarray_rt.executor.layout.choose import plan_layouts
from ndarray_rt.executor.layout.min_cut import cheapest_labels
from ndarray_rt.executor.memory.places import PAGE, WASTE
from ndarray_rt.executor.program.program import Program
from ndarray_rt.op.choose import BLOCKED, CHANNELS_LAST, prefers_channels_last
from ndarray_rt.symbol.infer import infer_graph_shapes, infer_graph_types
from ndarray_rt.symbol.node import Node, topological
from tests.graph.kernel_checks import RNG


def network(name: str = "data") -> mx.sym.Symbol:
    y = mx.sym.Variable(name)
    for i, filters in enumerate((20, 8)):
        y = mx.sym.Convolution(y, kernel=(3, 3), num_filter=filters, pad=(1, 1), name=f"c{i}",
                               no_bias=bool(i))
        y = mx.sym.BatchNorm(y, fix_gamma=False, eps=1e-3, name=f"bn{i}")
        y = mx.sym.Activation(y, act_type="relu", name=f"r{i}")
    y = mx.sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    return mx.sym.FullyConnected(y, num_hidden=5, name="fc")


def bound(grad_req: str = "null", batch: int = 2, **more: Any) -> mx.executor.Executor:
    executor = network().simple_bind(mx.cpu(), grad_req=grad_req, data=(batch, 3, 8, 8), **more)
    rng = np.random.default_rng(3)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        array[:] = rng.uniform(0.5, 1.5, array.shape) if name.endswith(
            ("gamma", "var")) else rng.uniform(-1, 1, array.shape)
    return executor


def naive(executor: mx.executor.Executor) -> list[np.ndarray[Any, Any]]:
    """The same arrays, node by node, in numpy."""
    with config.override(NDRT_ONEDNN=False):
        made = executor.symbol.bind(mx.cpu(), executor.arg_dict, grad_req="null",
                                    aux_states=executor.aux_dict)
        return [out.asnumpy() for out in made.forward()]


def check(executor: mx.executor.Executor) -> None:
    for got, want in zip(executor.forward(), naive(executor), strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def operators(steps: Iterable[Any]) -> list[str]:
    return [step.node.op.name for step in steps]


def inference_program(executor: mx.executor.Executor) -> Program:
    program = executor._inference.program
    assert program is not None
    return program


def training_program(executor: mx.executor.Executor) -> Program:
    program = executor._training.program
    assert program is not None
    return program


def test_inference_runs_the_optimized_graph_and_training_the_bound_one() -> None:
    executor = bound("write")
    assert operators(executor.inference_plan.steps) == [
        "_fold_batch_norm", "_fold_batch_norm", "_fused_Convolution", "_fused_Convolution",
        "Pooling", "FullyConnected"]
    assert operators(executor.plan.steps[:executor.plan.num_forward]) == [
        "Convolution", "BatchNorm", "Activation"] * 2 + ["Pooling", "FullyConnected"]
    check(executor)
    with config.override(NDRT_SKIP_PASSES="all"):
        assert len(executor.inference_plan.steps) == len(executor.plan.steps)
        check(executor)
    assert len(executor.inference_plan.steps) == 6
    check(executor)


def test_the_outputs_are_the_same_arrays_in_both_programs() -> None:
    executor = bound("write")
    out = executor.outputs[0]
    want = executor.forward()[0].asnumpy()
    assert executor.forward(is_train=True)[0] is out
    assert not np.allclose(out.asnumpy(), want), "statistics of the batch"
    executor.forward()
    np.testing.assert_array_equal(out.asnumpy(), want)


def test_written_parameters_are_folded_anew_and_nothing_is_recorded_again() -> None:
    executor = bound()
    for _ in range(3):
        check(executor)
    args, aux = executor.arg_dict, executor.aux_dict
    assert executor.capture_state == "captured"
    changes: list[Callable[[], object]] = [
        lambda: args["bn0_gamma"].__imul__(2), lambda: args["bn1_beta"].__iadd__(1),
        lambda: aux["bn0_moving_mean"].__iadd__(0.5), lambda: args["c1_weight"].__imul__(-1),
        lambda: aux["bn1_moving_var"].__iadd__(1)]
    for _ in range(2):
        for change in changes:
            before = executor.outputs[0].asnumpy()
            change()
            check(executor)
            assert not np.allclose(before, executor.outputs[0].asnumpy())
            assert executor.capture_state == "captured"


def test_a_parameter_that_is_exported_for_writing_is_folded_at_each_run() -> None:
    executor = bound()
    for _ in range(3):
        executor.forward()
    gamma = executor.arg_dict["bn0_gamma"].__array__(copy=False)
    for factor in (2, 3):
        gamma *= factor
        check(executor)


def test_parameters_of_recurrent_layers_are_joined_once() -> None:
    parts = [mx.sym.Variable(f"p{i}") for i in range(4)]
    shapes = {"p0": (4 * 6 * 5,), "p1": (4 * 6 * 6,), "p2": (24,), "p3": (24,)}
    net = mx.sym.RNN(mx.sym.Variable("data"), mx.sym._internal._rnn_param_concat(*parts, dim=0),
                     mx.sym.Variable("h"), mx.sym.Variable("c"), mode="lstm", state_size=6,
                     num_layers=1, name="rnn")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(3, 2, 5), h=(1, 2, 6),
                               c=(1, 2, 6), **shapes)
    rng = np.random.default_rng(0)
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-1, 1, array.shape)
    for _ in range(3):
        check(executor)
    assert executor.inference_plan.num_prologue == 1
    for name in ("p1", "p3", "p0"):
        executor.arg_dict[name][:] *= 0.5
        check(executor)
    assert executor.capture_state == "captured"


def test_training_and_inference_alternate_without_recording_again() -> None:
    executor = bound("write")
    head = mx.nd.ones((2, 5))
    breaks = []
    for _ in range(8):
        executor.forward(is_train=True)
        executor.backward(head)
        for name, grad in executor.grad_dict.items():
            if name != "data":
                array = executor.arg_dict[name]
                mx.nd.sgd_update(array, grad, lr=1e-2, out=array)
        check(executor)
        breaks.append(inference_program(executor).forward_capture().breaks)
    assert executor.capture_state == "captured"
    assert breaks[-1] == 0


def test_a_recorded_run_owns_its_scratch() -> None:
    # an input as users have it goes through scratch
    y = mx.sym.Convolution(mx.sym.Variable("x"), kernel=(3, 3), num_filter=40, no_bias=True,
                           name="c")
    y = mx.sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max")
    executor = y.simple_bind(mx.cpu(), grad_req="null", x=(2, 12, 20, 30))
    executor.arg_dict["x"][:] = 1
    executor.arg_dict["c_weight"][:] = 1
    for _ in range(3):
        executor.forward()
    assert executor.capture_state == "captured"
    gc.collect()
    others = [mx.nd.full((2, 12, 20, 30), 7.0) for _ in range(4)]
    executor.forward()
    assert all((other.asnumpy() == 7).all() for other in others)


def test_a_monitor_sees_each_node_as_it_was_bound() -> None:
    executor = bound()
    executor.forward()
    seen: list[str] = []
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    executor.forward()
    assert seen[:3] == ["c0_output", "bn0_output", "r0_output"]


def test_programs_of_one_executor_share_their_arena() -> None:
    executor = bound("write")
    executor.forward(is_train=True)
    held = executor.memory_stats["live"]
    executor.forward()
    folded = executor.inference_plan.constant_bytes
    # folded weights, packed and padded, and scratch; no second arena
    assert inference_program(executor).state.arena is training_program(executor).state.arena
    assert executor.memory_stats["live"] - held < 4 * folded + (1 << 16)


def test_a_graph_that_is_not_run_takes_no_memory() -> None:
    executor = bound()
    executor.forward()
    assert executor._training.program is None


# ---- other input shapes ----------------------------------------------------------------------


def test_reshaping_runs_no_pass_again_and_packs_nothing_again(
        monkeypatch: pytest.MonkeyPatch) -> None:
    executor = bound()
    for _ in range(3):
        executor.forward()

    def never(*args: object) -> None:
        raise AssertionError("a pass runs again")
    monkeypatch.setattr("ndarray_rt.executor.program.inference.optimize", never)
    packed = {n: a.layout for n, a in inference_program(executor).constants().items()}
    for batch in (5, 1, 2):
        other = executor.reshape(allow_up_sizing=True, data=(batch, 3, 8, 8))
        other.arg_dict["data"][:] = np.random.default_rng(batch).uniform(-1, 1, (batch, 3, 8, 8))
        for _ in range(3):
            check(other)
        assert inference_program(other).prologue is inference_program(executor).prologue
        assert {n: a.layout for n, a in inference_program(other).constants().items()} == packed
        executor.arg_dict["bn0_gamma"][:] *= 1.5
        check(executor)
        check(other)


def test_reshaping_plans_what_binding_plans() -> None:
    executor = bound()
    executor.forward()
    for batch in (5, 1, 2):
        other = executor.reshape(allow_up_sizing=True, data=(batch, 3, 8, 8))
        check(other)
        new = executor.symbol.simple_bind(mx.cpu(), grad_req="null", data=(batch, 3, 8, 8))
        made, wanted = other.inference_plan, new.inference_plan
        assert str(made).splitlines()[1:] == str(wanted).splitlines()[1:]
        assert [(s.born, s.dies, s.used, s.inside) for s in made.storages] == [
            (s.born, s.dies, s.used, s.inside) for s in wanted.storages]
        # places are those of the first, scaled: where that rounded up to pages, they are apart
        assert made.arena_bytes <= WASTE * wanted.arena_bytes + PAGE * len(made.storages)
        assert [v.padded for v in made.values] == [v.padded for v in wanted.values]
        executor = other


def test_what_is_folded_twice_is_found_again() -> None:
    """The second fold reads what the first one made, and no array of the user's."""
    y = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(1, 1), num_filter=8, name="c")
    y = mx.sym.BatchNorm(mx.sym.BatchNorm(y, name="b1"), fix_gamma=False, name="b2")
    executor = y.simple_bind(mx.cpu(), grad_req="null", data=(1, 8, 2, 2))
    for array in {**executor.arg_dict, **executor.aux_dict}.values():
        array[:] = np.random.default_rng(1).uniform(0.5, 1.5, array.shape)
    check(executor)
    for other in (executor.reshape(allow_up_sizing=True, data=(2, 8, 2, 2)), executor.clone()):
        check(other)
        executor.arg_dict["b1_beta"][:] += 1
        check(other)
        check(executor)


def test_a_pass_that_is_wrong_for_another_shape_is_not_trusted() -> None:
    x = mx.sym.Variable("x")
    y = mx.sym.Reshape(mx.sym.relu(x, name="a"), shape=(1, -1), name="flat")
    y = mx.sym.softmax(y, name="soft")
    executor = y.simple_bind(mx.cpu(), grad_req="null", x=(1, 6))
    executor.arg_dict["x"][:] = np.arange(6)
    executor.forward()
    assert len(executor.inference_plan.steps) == 2, "the reshape changes nothing"
    other = executor.reshape(allow_up_sizing=True, x=(2, 6))
    other.arg_dict["x"][:] = np.arange(12).reshape(2, 6)
    check(other)
    assert other.outputs[0].shape == (1, 12)
    assert len(other.inference_plan.steps) == 3


def test_executors_that_share_memory_refuse_what_another_run_overwrote() -> None:
    first = bound("write", batch=4)
    second = network().simple_bind(mx.cpu(), data=(2, 3, 8, 8), shared_exec=first,
                                   shared_arg_names=[n for n in first.arg_dict if n != "data"])
    second.arg_dict["data"][:] = 0.5
    first.forward(is_train=True)
    check(second)
    assert inference_program(second).state.arena is training_program(first).state.arena
    with pytest.raises(MXNetError, match="shares this one's memory"):
        first.backward(mx.nd.ones((4, 5)))
    first.forward(is_train=True)
    first.backward(mx.nd.ones((4, 5)))
    want = first.grad_dict["fc_weight"].asnumpy()
    check(first)
    check(second)
    first.forward(is_train=True)
    first.backward(mx.nd.ones((4, 5)))
    np.testing.assert_array_equal(first.grad_dict["fc_weight"].asnumpy(), want)


# ---- layouts -----------------------------------------------------------------------------------


COST = st.floats(0, 10)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(COST, COST), min_size=1, max_size=7), st.data())
def test_the_cut_is_the_cheapest_of_all(costs: list[tuple[float, float]],
                                        data: st.DataObject) -> None:
    n = len(costs)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    apart = {pair: data.draw(COST | st.just(float("inf")))
             for pair in data.draw(st.lists(st.sampled_from(pairs), unique=True))} if pairs else {}

    def total(labels: Sequence[int]) -> float:
        return sum(c[label] for c, label in zip(costs, labels, strict=True)) + sum(
            cost for (i, j), cost in apart.items() if labels[i] != labels[j])
    best = min(map(total, itertools.product((0, 1), repeat=n)))
    assert total(cheapest_labels(costs, apart)) == pytest.approx(best, abs=1e-9)


def layouts(known: Any = None) -> list[str]:
    net = mx.sym.Variable("data")
    for i in range(4):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=32, pad=(1, 1), name=f"c{i}")
        net = mx.sym.relu(net, name=f"r{i}")
    heads = net.entries
    shapes: Any = infer_graph_shapes(heads, {"data": (4, 3, 16, 16)})
    types: Any = infer_graph_types(heads, {})
    found = plan_layouts(topological(heads), shapes, types, {}, known)
    return [found[n] for n in topological(heads) if n in found]


@pytest.mark.skipif(not prefers_channels_last(), reason="one variant is best here")
def test_layouts_change_where_that_pays_for_the_reorders() -> None:
    assert layouts() == [CHANNELS_LAST] * 4

    def costs(gain: float) -> Callable[..., tuple[float, float] | None]:
        blocked = {"c0": 2.0, "c1": 2.0, "c2": 1.0 - gain, "c3": 1.0 - gain}
        return lambda node, *_: (1.0, blocked[node.name]) if node.name in blocked else None
    assert layouts(costs(0.9)) == [CHANNELS_LAST] * 2 + [BLOCKED] * 2
    assert layouts(costs(1e-4)) == [CHANNELS_LAST] * 4


def first_layers(window: int, filters: int, stride: int) -> mx.sym.Symbol:
    """A layer that reads an image, a pooling, and a layer that reads that."""
    first = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(window, window), stride=(2, 2),
                               num_filter=filters, name="first")
    pooled = mx.sym.Pooling(mx.sym.relu(first), kernel=(stride, stride), stride=(stride, stride),
                            pool_type="max")
    return mx.sym.Convolution(pooled, kernel=(1, 1), num_filter=8, name="second")


@pytest.mark.skipif(not prefers_channels_last(), reason="one variant is best here")
@pytest.mark.parametrize(("window", "filters", "stride", "variant"), [
    (7, 64, 2, BLOCKED), (7, 64, 1, CHANNELS_LAST), (7, 60, 2, CHANNELS_LAST),
    (3, 64, 2, CHANNELS_LAST)], ids=["it pays", "much to reorder", "no full blocks", "3x3"])
def test_first_layers_are_blocked_where_that_pays(window: int, filters: int, stride: int,
                                                  variant: str) -> None:
    net = first_layers(window, filters, stride)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 120, 120))
    for array in executor.arg_dict.values():
        array[:] = RNG.standard_normal(array.shape)
    made = [executor.forward(is_train=False)[0].asnumpy() for _ in range(3)]
    variants = [s.variant for s in executor.inference_plan.steps if s.variant]
    assert variants == [variant, CHANNELS_LAST]
    with config.override(NDRT_ONEDNN=False):
        want = executor.forward(is_train=False)[0].asnumpy()
    for found in made:
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


@pytest.mark.skipif(not prefers_channels_last(), reason="one variant is best here")
@pytest.mark.parametrize("variants", list(itertools.product((CHANNELS_LAST, BLOCKED), repeat=2)))
def test_any_choice_of_layouts_gives_the_same(variants: tuple[str, str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(nodes: Sequence[Node], *facts: object) -> dict[Node, str]:
        convolutions = [n for n in nodes if n.op is not None and "Convolution" in n.op.name]
        return dict(zip(convolutions, variants, strict=True))
    monkeypatch.setattr("ndarray_rt.executor.program.inference.plan_layouts", chosen)
    executor = bound()
    for _ in range(3):
        check(executor)
    assert executor.capture_state == "captured"
    assert [s.variant for s in executor.inference_plan.steps if s.variant] == list(variants)
