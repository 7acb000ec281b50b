"""Functions and classes of users that give something wrong: an error that says what they gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd
from ndarray_rt.errors import ParameterError, ShapeError, TypeMismatch
from ndarray_rt.imperative.custom import KINDS

nd, sym = mx.nd, mx.sym
X, ONE = nd.ones((3, 2)), nd.ones((1,))
V = sym.Variable("v")
ROW = nd.zeros((2,))


def steps(i: Any) -> Any:
    return i, [i + 1]


def below(i: Any) -> Any:
    return i < 3


LOOPS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nd.contrib.foreach(lambda d, s: None, X, ROW), TypeMismatch, "body gave None"),
    # rows of an array are not outputs and states
    (lambda: nd.contrib.foreach(lambda d, s: d, X, ROW), TypeMismatch,
     r"body gave NDArray .*\(2,\)"),
    (lambda: nd.contrib.foreach(3, X, ROW), TypeMismatch, "body got 3, expected a function"),
    (lambda: nd.contrib.foreach(lambda d, s: (d, s), nd.full((), 3), ROW), ShapeError, "rank 0"),
    (lambda: sym.contrib.foreach(lambda d, s: d, V, V), TypeMismatch, "body gave <Symbol"),
    (lambda: sym.contrib.foreach(None, V, V), TypeMismatch, "body got None"),
    (lambda: nd.contrib.while_loop(below, lambda i: None, [ONE], 5), TypeMismatch,
     "func gave None, expected a pair"),
    (lambda: nd.contrib.while_loop(lambda i: None, steps, [ONE], 5), TypeMismatch,
     "condition got None"),
    (lambda: nd.contrib.while_loop(lambda i: "a", steps, [ONE], 5), TypeMismatch,
     "condition got 'a'"),
    (lambda: nd.contrib.while_loop(below, steps, [ONE], -1), ParameterError,
     "max_iterations got -1"),
    (lambda: nd.contrib.while_loop(below, steps, [ONE], "x"), ParameterError,
     "max_iterations got 'x'"),
    (lambda: nd.contrib.while_loop(
        below, lambda i: (nd.ones((int(i.asscalar()),)), [i + 1]), [ONE], 5), ShapeError,
     "while_loop: outputs of different steps"),
    (lambda: sym.contrib.while_loop(below, lambda i: None, [V], 5), TypeMismatch, "func gave None"),
    (lambda: sym.contrib.while_loop(below, steps, [V], "x"), ParameterError,
     "max_iterations got 'x'"),
    (lambda: sym.contrib.while_loop(below, 5, [V], 5), TypeMismatch, "func got 5"),
    (lambda: nd.contrib.cond(None, lambda: X, lambda: X), TypeMismatch, "pred got None"),
    (lambda: nd.contrib.cond(ONE, X, X), TypeMismatch, "then_func got NDArray"),
    (lambda: sym.contrib.cond(V, lambda: V, 5), TypeMismatch, "else_func got 5"),
]


@pytest.mark.parametrize(("call", "kind", "text"), LOOPS)
def test_control_flow_says_what_a_function_gave(call: Callable[[], Any], kind: type[Exception],
                                                text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        call()
    assert str(caught.value).startswith(("foreach", "while_loop", "cond"))


def test_a_condition_may_be_a_number() -> None:
    assert nd.contrib.cond(np.ones(1), lambda: 1, lambda: 2) == 1
    assert nd.contrib.cond(np.float32(0), lambda: 1, lambda: 2) == 2


class Wrong(mx.operator.CustomOpProp):
    """Gives something wrong where it is told to."""

    def __init__(self, where: str = "", shape: str = "") -> None:
        super().__init__()
        self.where, self.shape = where, shape

    def list_arguments(self) -> Any:
        return 5 if self.where == "arguments" else ["data"]

    def list_outputs(self) -> Any:
        return [None] if self.where == "outputs" else ["output"]

    def infer_shape(self, in_shape: Any) -> Any:
        wrong = {"words": ("a",), "none": None, "huge": (10**30,)}
        return in_shape, [wrong.get(self.shape, in_shape[0])], 5 if self.shape == "aux" else []

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        return None


@pytest.fixture
def wrong() -> Iterator[str]:
    mx.operator.register("wrong_for_a_test")(Wrong)
    yield "wrong_for_a_test"
    KINDS.forget("wrong_for_a_test")


@pytest.mark.parametrize(("told", "kind", "text"), [
    ({"where": "arguments"}, TypeMismatch, "list_arguments gave 5, expected a list of names"),
    ({"where": "outputs"}, TypeMismatch, r"list_outputs gave \[None\]"),
    ({"shape": "words"}, ShapeError, r"infer_shape gave \('a',\) as a shape"),
    ({"shape": "none"}, ShapeError, "infer_shape gave None as a shape"),
    ({"shape": "huge"}, ShapeError, "infer_shape gave .* as a shape"),
    ({"shape": "aux"}, ShapeError, "expected 2 or 3 lists"),
    ({}, TypeMismatch, "create_operator gave None, expected a CustomOp"),
])
def test_custom_says_what_the_class_gave(wrong: str, told: dict[str, str], kind: type[Exception],
                                         text: str) -> None:
    with pytest.raises(kind, match=f"^Custom.*: wrong_for_a_test.*{text}"):
        nd.Custom(X, op_type=wrong, **told)


class Numpy(autograd.Function):
    """Its backward gives an array of numpy."""

    def forward(self, x: Any) -> Any:
        return x * 2

    def backward(self, dy: Any) -> Any:
        return np.ones((3, 2))


def test_a_function_that_gives_an_array_of_numpy_is_told_so() -> None:
    x = nd.ones((3, 2))
    x.attach_grad()
    with autograd.record():
        y = Numpy()(x)
    with pytest.raises(TypeMismatch, match="backward gave ndarray"):
        y.backward()
