"""Runs with functions of NumPy between native steps are recorded and replayed as all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ShapeError
from ndarray_rt.executor.executor import Executor
from ndarray_rt.op.fallback import REASONS
from ndarray_rt.op.registry import find
from ndarray_rt.ops.fused.numpy_function import NumpyFunctionParams
from ndarray_rt.symbol.node import Node
from ndarray_rt.symbol.symbol import Symbol

SHAPE = (2, 16, 6, 6)


def through(function: Callable[..., Any], *args: Symbol, takes: list[tuple[Any, str]],
            gives: list[tuple[Any, str]], name: str = "middle") -> Symbol:
    """A function as a node of a graph."""
    params = NumpyFunctionParams(num_args=len(args), function=function, takes=tuple(takes),
                                 gives=tuple(gives))
    node = Node(find("_numpy_function"), name, {}, params, [arg.entries[0] for arg in args])
    return Symbol(node.outputs)


def convolved(x: Symbol, name: str) -> Symbol:
    return mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=16, name=name)


def bound(function: Callable[..., Any], shape: tuple[int, ...] = SHAPE) -> Executor:
    """Convolution, the function, convolution."""
    middle = through(function, convolved(mx.sym.Variable("x"), "first"),
                     takes=[(shape, "float32")], gives=[(shape, "float32")])
    executor = convolved(middle, "second").simple_bind(mx.cpu(), grad_req="null", x=SHAPE)
    rng = np.random.default_rng(5)
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-1, 1, array.shape)
    return executor


def expected(executor: Executor, function: Callable[..., Any]) -> Any:
    args = executor.arg_dict
    first = mx.nd.Convolution(args["x"], args["first_weight"], args["first_bias"], kernel=(3, 3),
                              pad=(1, 1), num_filter=16)
    middle = mx.nd.array(function(first.asnumpy())[0])
    return mx.nd.Convolution(middle, args["second_weight"], args["second_bias"], kernel=(3, 3),
                             pad=(1, 1), num_filter=16).asnumpy()


def check_runs(executor: Executor, function: Callable[..., Any], runs: int = 6) -> None:
    rng = np.random.default_rng(7)
    for _ in range(runs):
        executor.arg_dict["x"][:] = rng.uniform(-1, 1, SHAPE)
        made = executor.forward()[0].asnumpy()
        np.testing.assert_allclose(made, expected(executor, function), rtol=1e-5, atol=1e-5)


def sorted_rows(x: Any) -> tuple[Any]:
    return (np.sort(x, -1),)


def itself(x: Any) -> tuple[Any]:
    return (x,)


@pytest.mark.parametrize("function", [sorted_rows, itself])
def test_replays_call_functions(function: Callable[..., Any]) -> None:
    calls: list[int] = []

    def counting(x: Any) -> Any:
        calls.append(1)
        return function(x)
    executor = bound(counting)
    check_runs(executor, function)
    assert executor.capture_state == "captured"
    assert len(calls) == 6


def test_whole_numbers_and_several_results() -> None:
    shape = (3, 5)

    def places(x: Any) -> tuple[Any, Any, Any]:
        return np.argsort(x, -1), x > 0, np.sort(x, -1)
    first = through(places, mx.sym.Variable("x") * 2, takes=[(shape, "float32")],
                    gives=[(shape, "int64"), (shape, "bool"), (shape, "float32")])

    def chosen(at: Any, positive: Any) -> tuple[Any]:
        return (np.where(positive, at, -1).astype(np.float32),)
    second = through(chosen, first[0], first[1], takes=[(shape, "int64"), (shape, "bool")],
                     gives=[(shape, "float32")], name="chosen")
    net = mx.sym.Group([mx.sym.exp(second), first[2]])
    x = mx.nd.zeros(shape)
    executor = net.bind(mx.cpu(), {"x": x}, grad_req="null")
    for seed in range(5):
        value = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
        x[:] = value
        made = executor.forward()
        order = np.where(value > 0, np.argsort(value, -1), -1)
        np.testing.assert_allclose(made[0].asnumpy(), np.exp(order), rtol=1e-6)
        np.testing.assert_array_equal(made[1].asnumpy(), np.sort(value * 2, -1))
    assert executor.capture_state == "captured"


def test_functions_at_both_ends() -> None:
    facts = [((2, 3), "float32")]
    net = through(sorted_rows, mx.sym.Variable("x"), takes=facts, gives=facts, name="begin")
    net = through(lambda x: (x[:, ::-1],), mx.sym.square(net), takes=facts, gives=facts, name="end")
    x = mx.nd.zeros((2, 3))
    executor = net.bind(mx.cpu(), {"x": x}, grad_req="null")
    for turn in range(5):
        x[:] = np.array([[3, 1, 2], [6, 5, 4]], np.float32) + turn
        wanted = np.sort(np.arange(1, 7).reshape(2, 3) + turn)[:, ::-1] ** 2
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), wanted)
    assert executor.capture_state == "captured"


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, MemoryError])
def test_what_a_function_raises(raised: type[BaseException]) -> None:
    fails = False

    def failing(x: Any) -> tuple[Any]:
        if fails:
            raise raised("on purpose")
        return (np.sort(x, -1),)
    executor = bound(failing)
    check_runs(executor, sorted_rows)
    fails = True
    with pytest.raises(raised):
        executor.forward()
    fails = False
    check_runs(executor, sorted_rows)
    assert executor.capture_state == "captured"


def test_errors_name_the_node() -> None:
    wrong = False

    def changing(x: Any) -> tuple[Any]:
        return (x[:, :, :, 1:] if wrong else np.sort(x, -1),)
    executor = bound(changing)
    check_runs(executor, sorted_rows)
    wrong = True
    with pytest.raises(ShapeError, match=r"_numpy_function.*middle.*\(2, 16, 6, 5\)"):
        executor.forward()


def test_functions_are_counted_and_timed() -> None:
    executor = bound(sorted_rows)
    check_runs(executor, sorted_rows)
    REASONS.reset()
    check_runs(executor, sorted_rows, 3)
    counts = {op: n for (op, _), n in mx.fallback_reasons().items()}
    assert counts["_numpy_function"] == 3
    told = executor.explain()
    assert "replayed from a recording" in str(told)
    row = next(row for row in told.rows if row.operator == "_numpy_function")
    assert row.milliseconds > 0
    assert row.kernel.startswith("numpy: ")


def test_training_calls_python_step_by_step() -> None:
    facts = [((2, 3), "float32")]
    net = through(sorted_rows, mx.sym.Variable("x"), takes=facts, gives=facts)
    executor = net.bind(mx.cpu(), {"x": mx.nd.ones((2, 3))}, grad_req="null")
    for _ in range(4):
        executor.forward(is_train=True)
    assert executor.capture_states == {"forward, training": "a step runs in Python"}
