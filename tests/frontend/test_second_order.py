"""Gradients of gradients through autograd, against finite differences of the first ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, config, nd

RNG = np.random.default_rng(5)
EPS = 1e-5


def draw(*shape: int) -> Any:
    return RNG.uniform(0.3, 1.7, shape) * np.where(RNG.random(shape) < 0.5, -1, 1)


def first(function: Callable[..., Any], values: Sequence[Any], at: int) -> tuple[list[Any], Any]:
    """The arrays, and the gradient of one of them, recorded; head gradients are 1, 2, 3, ..."""
    arrays = [nd.array(value, dtype="float64") for value in values]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = function(*arrays)
        head = nd.array(np.arange(1, 1 + y.size).reshape(y.shape) / y.size, dtype="float64")
        return arrays, autograd.grad(y, arrays[at], head_grads=head, create_graph=True)[0]


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "layer norm": (lambda x, g, b: nd.LayerNorm(x, g, b), [(3, 5), (5,), (5,)]),
    "layer norm of axis 1": (lambda x, g, b: nd.LayerNorm(x, g, b, axis=1),
                             [(2, 4, 3), (4,), (4,)]),
    "convolution": (lambda x, w, b: nd.Convolution(x, w, b, kernel=(2, 2), num_filter=3,
                                                   pad=(1, 0), stride=(1, 2)),
                    [(2, 2, 4, 5), (3, 2, 2, 2), (3,)]),
    "deconvolution": (lambda x, w: nd.Deconvolution(x, w, kernel=(2,), num_filter=3,
                                                    stride=(2,)), [(2, 2, 4), (2, 3, 2)]),
    "fully connected": (lambda x, w, b: nd.tanh(nd.FullyConnected(
        x, w, b, num_hidden=3, flatten=False)), [(2, 2, 4), (3, 4), (3,)]),
    "attention": (lambda q, k, v: nd.batch_dot(nd.softmax(nd.batch_dot(
        q, k, transpose_b=True)), v), [(2, 3, 4), (2, 5, 4), (2, 5, 2)]),
    "cross entropy": (lambda x, w: -nd.pick(nd.log_softmax(nd.dot(x, w)), nd.array(
        [0, 2], dtype="float64")), [(2, 4), (4, 3)]),
    "pooling": (lambda x: nd.Pooling(x * x, kernel=(2, 2), pool_type="max"), [(1, 2, 4, 4)]),
    "pooling twice": (lambda x: nd.Pooling(nd.Pooling(x ** 3, kernel=(2, 2), pool_type="avg"),
                                           kernel=(2, 2), pool_type="lp", p_value=2),
                      [(1, 1, 4, 4)]),
    "reductions": (lambda x: x.max(axis=1) * x.mean(axis=1) * (x * x).sum(axis=1), [(3, 4)]),
    "shapes": (lambda x, y: nd.concat(x * x, y ** 2, dim=1).reshape((-1,))[1:5] ** 2,
               [(2, 2), (2, 3)]),
    "broadcast": (lambda x, y: nd.broadcast_power(x * x, y) / (1 + y * y), [(2, 3), (1, 3)]),
    "prelu": (lambda x, g: nd.LeakyReLU(x * x * x, g, act_type="prelu"), [(2, 3, 2), (3,)]),
    "scores of self-attention": (lambda x: nd.contrib.interleaved_matmul_selfatt_qk(x, heads=2),
                                 [(3, 2, 12)]),
    "scores of a width that heads do not divide": (
        lambda x: nd.contrib.interleaved_matmul_selfatt_qk(x, heads=2), [(4, 2, 17)]),
    "gather": (lambda w: nd.Embedding(nd.array([1, 0, 1]), w, input_dim=3, output_dim=2) ** 3,
               [(3, 2)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_differences(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    values = [draw(*shape) for shape in shapes]
    for at in range(len(values)):
        arrays, dx = first(function, values, at)
        weights = draw(*dx.shape)
        dx.backward(nd.array(weights, dtype="float64"))
        for i, value in enumerate(values):
            direction = draw(*value.shape)
            moved = []
            for step in (EPS, -EPS):
                there = [*values[:i], value + step * direction, *values[i + 1:]]
                moved.append(float((first(function, there, at)[1].asnumpy() * weights).sum()))
            want = (moved[0] - moved[1]) / (2 * EPS)
            got = float((arrays[i].grad.asnumpy() * direction).sum())
            assert got == pytest.approx(want, rel=1e-5, abs=1e-6), f"{name}: {at}, then {i}"


def test_the_third_derivative() -> None:
    x = nd.array([0.3, -0.7], dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = nd.sin(x)
        for _ in range(2):
            y = autograd.grad(y, x, create_graph=True)[0]
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), -np.cos(x.asnumpy()), rtol=1e-12)


def test_the_third_derivative_of_pooling() -> None:
    x = nd.array(np.arange(16.0).reshape(1, 1, 4, 4), dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x ** 3, kernel=(2, 2), stride=(2, 2), pool_type="max")
        for _ in range(2):
            y = autograd.grad(y, x, create_graph=True)[0]
    y.backward()
    want = np.zeros((4, 4))
    want[1::2, 1::2] = 6
    np.testing.assert_allclose(x.grad.asnumpy()[0, 0], want, rtol=1e-12)


def test_a_gradient_penalty() -> None:
    """The usual use: the norm of the gradient for the data is part of a loss."""
    x, w, v = (nd.array(draw(*shape)) for shape in ((4, 3), (5, 3), (1, 5)))
    for weight in (w, v):
        weight.attach_grad()
    x.attach_grad()

    def penalty() -> Any:
        hidden = nd.Activation(nd.FullyConnected(x, w, num_hidden=5, no_bias=True),
                               act_type="softrelu")
        score = nd.FullyConnected(hidden, v, num_hidden=1, no_bias=True)
        dx = autograd.grad(score, x, create_graph=True)[0]
        norm = ((dx * dx).sum(axis=1) + 1e-6) ** 0.5
        return ((norm - 1) ** 2).mean()
    with autograd.record():
        before = penalty()
    before.backward()
    for weight in (w, v):
        weight -= 0.1 * weight.grad
    with autograd.record():
        after = penalty()
    assert float(after.asscalar()) < float(before.asscalar())


def test_losses_have_none() -> None:
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()
    with autograd.record():
        dx = autograd.grad(nd.SoftmaxOutput(x, nd.array([1])), x, create_graph=True)[0]
    with pytest.raises(mx.MXNetError, match="has no gradient"):
        dx.backward()


def test_a_constant_gradient_has_gradients_of_0() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        dx = autograd.grad(x.sum(), x, create_graph=True)[0]
        again = autograd.grad(dx, x, create_graph=True)[0]
    np.testing.assert_array_equal(dx.asnumpy(), [1, 1])
    np.testing.assert_array_equal(again.asnumpy(), [0, 0])
    dx.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [0, 0])


@pytest.mark.parametrize("width", [12, 17])
def test_scores_of_self_attention_natively(width: int) -> None:
    """Twice, in NumPy and natively, with another head gradient, and the third derivative."""
    x, dy, change = (draw(*shape) for shape in ((4, 2, width), (4, 4, 4), (4, 2, width)))
    found = []
    for dtype, is_native in (("float64", False), ("float32", False), ("float32", True)):
        data, head, ahead = (nd.array(value, dtype=dtype) for value in (x, dy, change))
        data.attach_grad()
        head.attach_grad()
        with config.override(NDRT_ONEDNN=is_native):
            with autograd.record():
                y = nd.contrib.interleaved_matmul_selfatt_qk(data, heads=2)
                dx = autograd.grad(y, data, head_grads=head, create_graph=True)[0]
                twice = autograd.grad(dx, head, head_grads=ahead, create_graph=True)[0]
            twice.backward()
        found.append([each.asnumpy() for each in (dx, twice, data.grad)])
    for got in found[1:]:
        for value, want in zip(got, found[0], strict=True):
            np.testing.assert_allclose(value, want, rtol=1e-4, atol=1e-5)
    assert np.abs(found[0][1]).min() > 0
