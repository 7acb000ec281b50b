"""Loops and branches as Scan, Loop and If."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import Unsupported

from .exported import check_block, check_symbol

DRAWN = np.random.default_rng(5)


def drawn(*shape: int) -> np.ndarray:
    return DRAWN.normal(size=shape).astype(np.float32)


def operators(graph: Any) -> list[str]:
    """Of a graph and of those inside of its nodes."""
    return [name for node in graph.node for name in (
        node.op_type, *(name for attribute in node.attribute if attribute.HasField("g")
                        for name in operators(attribute.g)))]


def cell(x: Any, states: Any) -> Any:
    """A step of a recurrent layer with weights from outside."""
    hidden = mx.sym.FullyConnected(x, num_hidden=4, name="i2h") + mx.sym.FullyConnected(
        states[0], num_hidden=4, name="h2h")
    new = mx.sym.tanh(hidden)
    return [new * 2, mx.sym.sum(new, axis=1)], [new]


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_steps_of_data_with_weights_from_outside(opset: int) -> None:
    outs, states = mx.sym.contrib.foreach(cell, mx.sym.var("data"), [mx.sym.var("state")])
    made = mx.sym.Group([*outs, *states])
    model = check_symbol(made, {"data": ("steps", None, 3), "state": ("data_1", 4)},
                         [[drawn(5, 2, 3), drawn(2, 4)], [drawn(1, 6, 3), drawn(6, 4)]],
                         opset=opset)
    assert "Scan" in operators(model.graph)
    assert sorted(t.name for t in model.graph.initializer if "weight" in t.name) == [
        "h2h_weight", "i2h_weight"]


def test_steps_of_two_data_without_states_and_of_vectors() -> None:
    def body(data: Any, states: Any) -> Any:
        return data[0] * mx.sym.sum(data[1]), [states[0] + data[0]]
    outs, states = mx.sym.contrib.foreach(body, [mx.sym.var("a"), mx.sym.var("b")],
                                          [mx.sym.var("s")])
    check_symbol(mx.sym.Group([outs, *states]), {"a": (4,), "b": (4, 3), "s": (1,)},
                 [[drawn(4), drawn(4, 3), drawn(1)]])


def test_a_state_that_goes_through_and_an_output_that_is_a_step() -> None:
    def body(x: Any, states: Any) -> Any:
        return [x, states[0]], [states[1], states[0]]
    outs, states = mx.sym.contrib.foreach(body, mx.sym.var("x"), [mx.sym.var("s"),
                                                                  mx.sym.var("t")])
    check_symbol(mx.sym.Group([*outs, *states]), {"x": (3, 2), "s": (2,), "t": (2,)},
                 [[drawn(3, 2), drawn(2), drawn(2)]])


def counting(most: int) -> Any:
    """Adds `step` to x until its sum is above `end`, at most so many times."""
    outs, last = mx.sym.contrib.while_loop(
        lambda x, i: mx.sym.sum(x) < mx.sym.var("end"),
        lambda x, i: ([mx.sym.broadcast_mul(x, mx.sym.var("scale")), i],
                      [mx.sym.broadcast_add(x, mx.sym.var("step")), i + 1]),
        [mx.sym.var("x"), mx.sym.var("i")], max_iterations=most)
    return mx.sym.Group([*outs, *last])


@pytest.mark.parametrize("end", [-1, 3, 100])
def test_loop_on_a_condition(end: float) -> None:
    """No step, some steps, and as many as are allowed."""
    made = counting(6)
    names = made.list_arguments()
    calls = []
    for n in (1, 3):
        given = {"x": np.zeros((n, 2)), "i": np.zeros(1), "end": np.array([end]),
                 "step": np.ones((1, 2)), "scale": np.array([[0.5]])}
        calls.append([given[name].astype(np.float32) for name in names])
    shapes = {"x": ("n", 2), "i": (1,), "end": (1,), "step": (1, 2), "scale": (1, 1)}
    model = check_symbol(made, {name: shapes[name] for name in names}, calls, params={})
    assert "Loop" in operators(model.graph)


def branches() -> Any:
    """One of two figures of other operators, one of which has a loop inside."""
    x, w = mx.sym.var("x"), mx.sym.var("w")
    outer = mx.sym.exp(x)

    def then() -> Any:
        out, _ = mx.sym.contrib.foreach(lambda row, s: (row + s, row * s), x,
                                        mx.sym.sum(x, axis=0))
        return [out, mx.sym.dot(x, w)]

    def other() -> Any:
        return [x * outer, mx.sym.dot(x, w) + 1]
    return mx.sym.Group(mx.sym.contrib.cond(mx.sym.sum(x) > 0, then, other))


def test_branches_with_a_loop_inside() -> None:
    made = branches()
    x = np.abs(drawn(3, 2))
    model = check_symbol(made, {"x": (None, 2)}, [[x], [-x], [x[:1]]],
                         params={"w": mx.nd.array(drawn(2, 2))})
    found = operators(model.graph)
    assert "If" in found
    assert "Scan" in found


def test_branches_that_are_inputs_and_parameters() -> None:
    x, w = mx.sym.var("x"), mx.sym.var("w")
    made = mx.sym.contrib.cond(mx.sym.max(x) > 0.5, lambda: x, lambda: w)
    check_symbol(made, {"x": (2, 2)}, [[np.ones((2, 2), np.float32)],
                                       [np.zeros((2, 2), np.float32)]],
                 params={"w": mx.nd.array(drawn(2, 2))})


def test_block_with_a_loop() -> None:
    class Sum(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.layer = mx.gluon.nn.Dense(3, in_units=3)

        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            def body(row: Any, state: Any) -> Any:
                new = self.layer(row) + state
                return new, new
            return F.contrib.foreach(body, x, F.zeros_like(F.slice_axis(
                x, axis=0, begin=0, end=1).reshape((-3, 0))))
    net = Sum()
    net.initialize()
    model = check_block(net, [(None, 2, 3)], [[drawn(4, 2, 3)], [drawn(1, 2, 3)]])
    assert "Scan" in operators(model.graph)


def test_nodes_inside_without_a_form_are_told() -> None:
    made, _ = mx.sym.contrib.foreach(
        lambda x, s: (mx.sym.gamma(x, name="inner") + mx.sym.erfinv(x, name="other"), s + x),
        mx.sym.var("x"), mx.sym.var("s"), name="loop")
    with pytest.raises(Unsupported) as raised:
        mx.onnx.export(made, {}, shapes={"x": (2, 2), "s": (2,)})
    assert 'of its graphs: gamma "inner": the operator has no form' in str(raised.value)
    assert 'erfinv "other"' in str(raised.value)


def test_model_is_checked_with_shapes() -> None:
    outs, _ = mx.sym.contrib.foreach(cell, mx.sym.var("data"), [mx.sym.var("state")])
    model = check_symbol(outs[0], {"data": (5, 2, 3), "state": (2, 4)},
                         [[drawn(5, 2, 3), drawn(2, 4)]])
    body = next(attribute.g for node in model.graph.node for attribute in node.attribute
                if attribute.HasField("g"))
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    shape = inferred.graph.output[0].type.tensor_type.shape
    assert [dim.dim_value for dim in shape.dim] == [5, 2, 4]
    assert [info.type.tensor_type.elem_type for info in body.input] == [1, 1]
