"""One model for many batch sizes: constants keep their shapes, memory is bounded."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import InputMismatch
from ndarray_rt.onnx import InferenceSession, backend
from ndarray_rt.onnx import loaded as module

from .helpers import loaded, model_of

C = np.array([3, -4, 5], np.float32)
W = np.arange(9, dtype=np.float32).reshape(3, 3) - 4


def normed(x: Any) -> Any:
    middle = x - x.mean(-1, keepdims=True)
    return middle / np.sqrt((middle ** 2).mean(-1, keepdims=True) + 1e-5) * C + C


# what is written after "y = ", and the same by NumPy
FORMS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "add": ("y = Add(x, c)", lambda x: x + C),
    "constant first": ("y = Add(c, x)", lambda x: x + C),
    "row": ("one = Constant<value = int64[1] {0}>() r = Unsqueeze(c, one) y = Add(x, r)",
            lambda x: x + C),
    "number": ("k = Constant<value = float {3}>() y = Add(x, k)", lambda x: x + 3),
    "multiply": ("y = Mul(x, c)", lambda x: x * C),
    "subtract": ("y = Sub(c, x)", lambda x: C - x),
    "divide": ("y = Div(x, c)", lambda x: x / C),
    "maximum": ("y = Max(x, c)", lambda x: np.maximum(x, C)),
    "power": ("y = Pow(x, w2)", lambda x: x ** np.array([2, 3, 2], np.float32)),
    "dense": ("z = MatMul(x, w) y = Add(z, c)", lambda x: x @ W + C),
    "constant times data": ("t = Transpose(x) z = MatMul(w, t) y = Transpose(z)",
                            lambda x: x @ W.T),
    "norm": ("m = ReduceMean<axes = [1]>(x) d = Sub(x, m) two = Constant<value = float {2}>()"
             " q = Pow(d, two) v = ReduceMean<axes = [1]>(q)"
             " e = Constant<value = float {0.00001}>() ve = Add(v, e) s = Sqrt(ve) n = Div(d, s)"
             " g = Mul(n, c) y = Add(g, c)", normed),
}
CONSTANTS = (" <float[3] c = {3, -4, 5}, float[3] w2 = {2, 3, 2},"
             " float[3,3] w = {-4, -3, -2, -1, 0, 1, 2, 3, 4}> ")


@pytest.mark.parametrize("sizes", [(1, 2), (2, 1), (2, 3), (2, 3, 8, 4)], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_other_batches_with_constants(form: str, sizes: tuple[int, ...]) -> None:
    text, function = FORMS[form]
    model = loaded(f"g (float[N,3] x) => (float[N,3] y) {CONSTANTS} {{ {text} }}", opset=17)
    for n in sizes:
        x = np.random.default_rng(n).random((n, 3), np.float32)
        np.testing.assert_allclose(model(x)[0], function(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
def test_other_batches_that_are_joined_with_a_constant(axis: int) -> None:
    """Along the batch, and along the rows of a product with data."""
    model = loaded("g (float[N,3] x) => (float[A,B] y)" + CONSTANTS + "{ "
                   + ("y = Concat<axis = 0>(w, x) }" if axis == 0 else
                      "t = Transpose(x) y = Concat<axis = 1>(w, t) }"))
    for n in (2, 3, 8, 4, 1):
        x = np.random.default_rng(n).random((n, 3), np.float32)
        expected = np.concatenate([W, x if axis == 0 else x.T], axis)
        np.testing.assert_array_equal(model(x)[0], expected)


def test_other_batches_of_pictures() -> None:
    """A constant for each channel, and the pieces of a hard swish."""
    model = loaded("g (float[N,3,H,W] x) => (float[N,3,A,B] y)"
                   " <float[1,3,1,1] c = {3, -4, 5}, float[1] three = {3}, float low = {0},"
                   " float high = {6}> {"
                   " a = Add(x, c) b = Add(a, three) d = Clip(b, low, high) m = Mul(a, d)"
                   " p = GlobalAveragePool(m) y = Mul(p, c) }")
    for n, side in ((2, 4), (3, 4), (8, 5), (4, 4), (1, 4)):
        x = np.random.default_rng(n).normal(size=(n, 3, side, side)).astype(np.float32)
        c = C.reshape(1, 3, 1, 1)
        a = x + c
        expected = (a * np.clip(a + 3, 0, 6)).mean((2, 3), keepdims=True) * c
        np.testing.assert_allclose(model(x)[0], expected, rtol=1e-4, atol=1e-4)


def test_other_batches_of_sessions_backends_and_clones() -> None:
    proto = model_of("g (float[N,3] x) => (float[N,3] y)" + CONSTANTS
                     + "{ z = MatMul(x, w) y = Add(z, c) }")
    session = InferenceSession(proto.SerializeToString())
    prepared = backend.prepare(proto)
    model = session.model
    for n in (2, 4, 2):
        x = np.full((n, 3), 2, np.float32)
        expected = x @ W + C
        for made in (session.run(None, {"x": x}), prepared.run([x]), model.clone()(x)):
            np.testing.assert_allclose(made[0], expected)


def test_a_batch_that_a_constant_does_not_fit_leaves_the_model_whole() -> None:
    model = loaded("g (float[N,3] x) => (float[N,3] y) <float[2,3] c = {1, 2, 3, 4, 5, 6}> {"
                   " y = Add(x, c) }")
    c = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    for n in (2, 4, 1, 2):
        x = np.ones((n, 3), np.float32)
        if n == 4:
            with pytest.raises(InputMismatch, match="Add"):
                model(x)
        else:
            np.testing.assert_array_equal(model(x)[0], x + c)


# ---- memory -------------------------------------------------------------------------------------


def test_executors_live_as_long_as_a_plan_that_runs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PLANS", 4)
    model = loaded("g (float[N,3] x) => (float[N,3] y)" + CONSTANTS
                   + "{ z = MatMul(x, w) y = Add(z, c) }")
    for n in range(1, 101):
        x = np.full((n, 3), n, np.float32)
        np.testing.assert_allclose(model(x)[0], x @ W + C)
    assert len(model._loaded.plans) == 4
    gc.collect()
    assert len(model._loaded.executors) <= 4
    assert len(model._loaded._executors) <= 5
    model(np.ones((1, 3), np.float32))


def test_small_whole_numbers_of_many_shapes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PLANS", 4)
    model = loaded("g (float[N] x, int64 k) => (float[N] y) { f = Cast<to = 1>(k) y = Mul(x, f) }")
    for n in range(1, 101):
        x = np.ones(n, np.float32)
        np.testing.assert_array_equal(model(x, np.asarray(2))[0], x * 2)
    assert len(model._loaded._seen) == 4
    gc.collect()
    assert len(model._loaded.executors) <= 4
