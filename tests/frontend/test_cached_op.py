"""CachedOp: the symbol's operators run one by one give the same values, gradients and states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import ndarray_rt as mx
from ndarray_rt import autograd
from ndarray_rt.errors import (
    MXNetError,
    NameMismatch,
    ParameterError,
    ShapeError,
    TypeMismatch,
)
from ndarray_rt.op.random_state import default_random_state
from ndarray_rt.symbol.node import topological
from ndarray_rt.testing import graphs
from ndarray_rt.testing.naive import from_numpy_copy
from ndarray_rt.testing.random_graphs import RandomGraph, Result, read

from .cached_helpers import NETS, Net, close, mlp, run_eagerly, total


def as_list(outputs: Any) -> list[Any]:
    return outputs if isinstance(outputs, list) else [outputs]


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("flags", [True, False], ids=["flags", "no flags"])
def test_inference(name: str, flags: bool) -> None:
    net = Net(name)
    op = net.cached() if flags else mx.nd.CachedOp(net.symbol)
    for i in range(5):
        x = net.data(i)
        for got, want in zip(as_list(op(x, *net.params)), as_list(net.eager(x, *net.params)),
                             strict=True):
            close(got, want, f"call {i}")
    assert op.capture_states[-1] == {"forward, inference": "captured"}


def train(net: Net, call: Any, steps: int, train_mode: bool = True) -> list[Any]:
    """Outputs, gradients, weights and states of some steps of gradient descent."""
    found = []
    for i in range(steps):
        mx.random.seed(i)
        with autograd.record(train_mode=train_mode):
            outputs = call(net.data(i), *net.params)
            loss = total(outputs)
        loss.backward(train_mode=train_mode)
        found += [y.asnumpy() for y in as_list(outputs)]
        for x in net.trained:
            found.append(x.grad.asnumpy())
            x[:] = x - 0.01 * x.grad
        found += [x.asnumpy() for x in net.params]
    return found


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("train_mode", [True, False])
def test_training(name: str, train_mode: bool) -> None:
    """Values, gradients, and aux states after n steps: those of the operators one by one."""
    net, other = Net(name), Net(name)
    op = net.cached()
    for got, want in zip(train(net, op, 5, train_mode), train(other, other.eager, 5, train_mode),
                         strict=True):
        close(got, want)
    if name != "dropping":
        mode = "training" if train_mode else "inference"
        assert op.capture_states == [
            {f"forward, {mode}": "captured", f"backward, {mode}": "captured"}]


def test_gradients_that_add() -> None:
    net, other = Net("mlp", "add"), Net("mlp", "add")
    for got, want in zip(train(net, net.cached(), 3), train(other, other.eager, 3), strict=True):
        close(got, want)


def test_gradients_are_written_in_place() -> None:
    """No copy where the tape wants a gradient just where attach_grad put it."""
    net = Net("mlp")
    op = net.cached()
    train(net, op, 3)
    (group,) = op._groups
    assert sorted(group.targets) == [1, 2, 3, 4]
    assert group.idle[0].executor.grad_dict["fc1_weight"]._chunk is net.trained[0].grad._chunk


def test_forward_in_training_mode_without_recording() -> None:
    net = Net("convolutional")
    x, op = net.data(0), net.cached()
    before = [s.asnumpy() for s in net.states]
    with autograd.train_mode():
        for _ in range(3):
            close(op(x, *net.params), net.eager(x, *net.params))
    for state, was in zip(net.states, before, strict=True):
        assert (state.asnumpy() == was).all()


def test_gradient_of_data_from_other_operators() -> None:
    """Data that was computed under the tape, results that go on under it."""
    net = Net("convolutional")
    op, x = net.cached(), net.data(0)
    x.attach_grad()
    found = []
    for call in (op, op, op, net.eager):
        with autograd.record():
            loss = total(call(x * 2 + 1, *net.params).tanh())
        loss.backward()
        found.append([x.grad.asnumpy(), *[w.grad.asnumpy() for w in net.trained]])
    for got in found[:-1]:
        for a, b in zip(got, found[-1], strict=True):
            close(a, b)


def run_cached(graph: RandomGraph, op: Any, args: dict[str, Any], aux: dict[str, Any]) -> Result:
    default_random_state().seed(graph.seed)
    inputs = [{**args, **aux}[name] for name in graph.symbol.list_inputs()]
    with autograd.record():
        outputs = as_list(op(*inputs))
    values = [read(y) for y in outputs]
    if graph.grads:
        heads = [(y, from_numpy_copy(g)) for y, g in zip(outputs, graph.head_grads, strict=True)]
        autograd.backward([y for y, _ in heads], [g for _, g in heads])
    return Result(values, {n: read(args[n].grad) for n in graph.grads},
                  {n: read(aux[n]) for n in graph.aux})


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_random_graphs(graph: RandomGraph) -> None:
    """Three times: settling, recording, replaying; then in inference mode."""
    op = mx.nd.CachedOp(graph.symbol)
    args, aux = ({n: from_numpy_copy(v) for n, v in values.items()}
                 for values in (graph.args, graph.aux))
    for name in graph.grads:
        args[name].attach_grad(graph.requests[name])
    for _ in range(3):
        for name, value in graph.grads.items():
            args[name].grad[:] = value
        for name, value in graph.aux.items():
            aux[name][:] = value
        graph.assert_agrees(run_cached(graph, op, args, aux))
    inputs = [{**args, **aux}[name] for name in graph.symbol.list_inputs()]
    for _ in range(3):
        for got, want in zip(as_list(op(*inputs)), run_eagerly(graph.symbol, inputs), strict=True):
            close(got, want)


# ---- the interface -----------------------------------------------------------------------------


def test_one_output_or_a_list() -> None:
    net = Net("mlp")
    assert isinstance(net.cached()(net.data(0), *net.params), mx.nd.NDArray)
    group = mx.sym.Group([net.symbol])
    assert isinstance(mx.nd.CachedOp(group)(net.data(0), *net.params), mx.nd.NDArray)
    residual = Net("residual")
    assert isinstance(residual.cached()(residual.data(0), *residual.params), list)


def test_out() -> None:
    net = Net("mlp")
    op, x, y = net.cached(), net.data(0), mx.nd.zeros((3, 4))
    assert op(x, *net.params, out=y) is y
    close(y, net.eager(x, *net.params))
    z = [mx.nd.zeros((3, 4))]
    assert op(x, *net.params, out=z) is z
    close(z[0], y)
    with autograd.record():
        w = op(x, *net.params, out=mx.nd.zeros((3, 4)))
        assert total(w).asnumpy() != 0
    with autograd.record(), pytest.raises(MXNetError, match="when recording"):
        op(x, *net.params, out=w)
    with pytest.raises(ShapeError, match=r"'fc2_output' has shape \(2, 4\), expected \(3, 4\)"):
        op(x, *net.params, out=mx.nd.zeros((2, 4)))
    with pytest.raises(TypeMismatch, match="float64"):
        op(x, *net.params, out=mx.nd.zeros((3, 4), dtype="float64"))
    with pytest.raises(NameMismatch, match="2 in out"):
        op(x, *net.params, out=[y, y])
    with pytest.raises(TypeMismatch, match="out must be"):
        op(x, *net.params, out=3)


def test_out_is_an_input() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    op = mx.nd.CachedOp(mx.sym.Group([a + b, a]))
    x, y = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 5.0])
    op(x, y, out=[x, y])
    assert x.asnumpy().tolist() == [4, 7]
    assert y.asnumpy().tolist() == [1, 2]


def test_no_inputs() -> None:
    op = mx.nd.CachedOp(mx.sym.ones(shape=(2,)) + 1)
    assert op(default_ctx=mx.cpu(1)).context == mx.cpu(1)
    assert op().asnumpy().tolist() == [2, 2]


def test_head_that_is_an_input() -> None:
    x = mx.sym.Variable("x")
    op = mx.nd.CachedOp(mx.sym.Group([x, x * 2]))
    a = mx.nd.array([1.0, 2.0])
    a.attach_grad()
    with autograd.record():
        same, twice = op(a)
        loss = (same * 3 + twice).sum()
    loss.backward()
    assert a.grad.asnumpy().tolist() == [5, 5]
    a[:] = 7
    assert same.asnumpy().tolist() == [1, 2]


@pytest.mark.parametrize(("flags", "text"), [
    ([("statik_alloc", True)], "unknown parameter 'statik_alloc'"),
    ([("static_alloc", "maybe")], "'static_alloc' got 'maybe', expected a bool"),
    ([("data_indices", [0]), ("param_indices", [1, 2, 3])], "each of the 5 inputs once"),
    ([("data_indices", [0]), ("param_indices", [0, 1, 2, 3, 4])], "each of the 5 inputs once"),
    ([("data_indices", [7])], "each of the 5 inputs once"),
    ([("static_shape", True)], "static_alloc must be True"),
    (3, "expected .name, value. pairs"),
    (["static_alloc"], "expected .name, value. pairs"),
])
def test_wrong_flags(flags: Any, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        mx.nd.CachedOp(mlp(), flags)


def test_flags() -> None:
    """MXNet's, as Python values or as strings."""
    op = mx.nd.CachedOp(mlp(), [
        ("static_alloc", "True"), ("static_shape", True), ("inline_limit", 0),
        ("forward_bulk_size", "15"), ("backward_bulk_size", 15), ("is_dynamic", False),
        ("data_indices", "[0]"), ("param_indices", (1, 2, 3, 4)), ("subgraph", "")])
    assert op.flags["data_indices"] == (0,)
    assert op.flags["static_alloc"]
    assert op.symbol.list_inputs()[0] == "data"


def test_wrong_inputs() -> None:
    net = Net("mlp")
    op, x = net.cached(), net.data(0)
    with pytest.raises(NameMismatch, match=r"takes 5 inputs \(data, fc1_weight.*got 2"):
        op(x, net.params[0])
    with pytest.raises(TypeMismatch, match="'fc1_bias' must be an NDArray, got ndarray"):
        op(x, net.params[0], np.zeros(16), *net.params[2:])
    with pytest.raises(ShapeError, match=r"fc2_bias has shape \(5,\)"):
        op(x, *net.params[:3], mx.nd.zeros((5,)))
    with pytest.raises(TypeMismatch, match="fc1_weight has dtype float32"):
        op(x.astype("float64"), *net.params)
    with pytest.raises(TypeError, match="foo"):
        op(x, *net.params, foo=1)
    wrong: Any = "net"
    with pytest.raises(TypeMismatch, match="got a str, expected a Symbol"):
        mx.nd.CachedOp(wrong)
    close(op(x, *net.params), net.eager(x, *net.params))


@pytest.mark.parametrize("is_declared", [False, True])
def test_inputs_of_one_name_are_told_apart_by_their_positions(is_declared: bool) -> None:
    """Checked against MXNet 1.9.1: 5 - 3 is 2, and each has a gradient of its own."""
    x = [mx.sym.Variable(name) for name in ("x", "x", "x_1", "x")]
    net = mx.sym.Group([x[0] - x[1] * x[2] ** 2 + x[3] ** 3, x[1]])
    op = mx.nd.CachedOp(net, {"data_indices": (0, 1), "param_indices": (2, 3)} if is_declared
                        else ())
    assert op.symbol is net
    assert net.list_inputs() == ["x", "x", "x_1", "x"]
    for run in range(4):
        given = [mx.nd.array([value + run]) for value in (5, 3, 2, 7)]
        for array in given:
            array.attach_grad()
        a, b, c, d = (array.asscalar() for array in given)
        with mx.autograd.record():
            first, second = op(*given)
        assert (first.asscalar(), second.asscalar()) == (a - b * c ** 2 + d ** 3, b)
        first.backward()
        assert [array.grad.asscalar() for array in given] == [
            1, -c ** 2, -2 * b * c, 3 * d ** 2]


def test_states_of_one_name() -> None:
    """Two layers of statistics that are called the same keep them apart."""
    data = mx.sym.Variable("data")
    for _ in range(2):
        data = mx.sym.BatchNorm(data, name="bn", momentum=0.5)
    op = mx.nd.CachedOp(data)
    states = [mx.nd.zeros((2,)) if i % 2 else mx.nd.ones((2,)) for i in range(8)]
    x = mx.nd.array([[[[1.0]], [[2.0]]], [[[3.0]], [[6.0]]]])
    x.attach_grad()
    with mx.autograd.record():
        op(x, *states).backward()
    np.testing.assert_allclose(states[2].asnumpy(), [1.5, 2.5])
    assert np.abs(states[6].asnumpy() - 0.5).max() < 1e-5


def test_symbol_without_a_gradient() -> None:
    """It can be called while recording, as its operators can; backward says what is wrong."""
    op = mx.nd.CachedOp(mx.sym.erf(mx.sym._internal._random_uniform(shape=(2,)))
                        + mx.sym._internal._backward_mae_reg_out(mx.sym.Variable("x"),
                                                                 mx.sym.Variable("y")))
    x, y = mx.nd.ones((2,)), mx.nd.zeros((2,))
    x.attach_grad()
    with autograd.record():
        z = op(x, y)
    assert z.shape == (2,)
    with pytest.raises(MXNetError, match="has no gradient"):
        z.backward()


def test_history_shows_small_graphs_as_their_operators() -> None:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    parts = mx.sym.split(x * y + x, num_outputs=2, axis=0, squeeze_axis=True)
    net = mx.sym.Group([parts[1], parts[0] * 2])
    a, b = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[5, 6], [7, 8]])
    a.attach_grad()
    for limit, operators in ((4, 5), (3, 2)):
        op = mx.nd.CachedOp(net, [("inline_limit", limit)])
        with mx.autograd.record():
            first, second = op(a, b)
            head = first * second
        shown = mx.autograd.get_symbol(head)
        assert shown.list_arguments() == ["var0", "var1"]
        assert sum(not node.is_variable for node in topological(shown.entries)) == operators
        head.backward()
    op = mx.nd.CachedOp(net, [("inline_limit", 4)])
    with mx.autograd.record():
        first, second = op(a, b)
        head = first - second
    got = mx.autograd.get_symbol(head).eval(var0=a, var1=b)[0]
    assert np.array_equal(got.asnumpy(), head.asnumpy())
