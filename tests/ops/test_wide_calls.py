"""float16 and bfloat16 through float32: nothing falls back, results are float32's rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.dtypes import find_dtype
from ndarray_rt.op.fallback import REASONS
from ndarray_rt.testing.case import RTOL

pytest.importorskip("ml_dtypes")
over_halves = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
RNG = np.random.default_rng(3)
IMAGE, PLAIN = (2, 6, 9, 8), (4, 24)
ops = mx.nd

CALLS: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any]]] = {
    "convolution": ([IMAGE, (20, 6, 3, 3), (20,)],
                    lambda x, w, b: ops.Convolution(x, w, b, kernel=(3, 3), num_filter=20)),
    "deconvolution": ([IMAGE, (6, 5, 3, 3)],
                      lambda x, w: ops.Deconvolution(x, w, kernel=(3, 3), num_filter=5)),
    "dense": ([PLAIN, (7, 24), (7,)],
              lambda x, w, b: ops.FullyConnected(x, w, b, num_hidden=7)),
    "dot": ([PLAIN, (24, 5)], ops.dot),
    "batch_dot": ([(3, 4, 8), (3, 8, 5)], ops.batch_dot),
    "max pooling": ([IMAGE], lambda x: ops.Pooling(x, kernel=(2, 2), pool_type="max")),
    "mean pooling": ([IMAGE], lambda x: ops.Pooling(x, kernel=(3, 3), pool_type="avg")),
    "layer norm": ([PLAIN, (24,), (24,)], ops.LayerNorm),
    "softmax": ([PLAIN], ops.softmax),
    "log_softmax": ([PLAIN], ops.log_softmax),
    "relu": ([IMAGE], ops.relu),
    "gelu": ([PLAIN], lambda x: ops.LeakyReLU(x, act_type="gelu")),
    "sum": ([IMAGE], lambda x: ops.sum(x, axis=(2, 3))),
    "add": ([PLAIN, PLAIN], ops.elemwise_add),
    "broadcast": ([PLAIN, (1, 24)], ops.broadcast_mul),
    "concat": ([IMAGE, IMAGE], lambda x, y: ops.concat(x, y, dim=1)),
}


def drawn(shapes: list[tuple[int, ...]], dtype: str) -> tuple[list[mx.nd.NDArray], list[Any]]:
    """Arrays of a dtype, and of float32 with the same numbers."""
    halves = [RNG.uniform(-1, 1, shape).astype(find_dtype(dtype)) for shape in shapes]
    return ([mx.nd.array(x, dtype=x.dtype) for x in halves],
            [mx.nd.array(x.astype("f4")) for x in halves])


def close(got: mx.nd.NDArray, want: mx.nd.NDArray) -> None:
    x, y = got.asnumpy().astype("f4"), want.asnumpy()
    tolerance = RTOL[got.dtype.name]
    np.testing.assert_allclose(x, y, tolerance, tolerance * max(1.0, float(np.abs(y).max())))


@over_halves
@pytest.mark.parametrize("name", CALLS)
def test_forward_and_backward_are_native(name: str, dtype: str) -> None:
    """Numpy computes what it computes of float32, and nothing else."""
    shapes, call = CALLS[name]
    both = drawn(shapes, dtype)
    made, reasons = [], []
    for arrays in both:
        REASONS.reset()
        for x in arrays:
            x.attach_grad()
        with mx.autograd.record():
            y = call(*arrays)
        y.backward(mx.nd.ones(y.shape, dtype=y.dtype))
        made.append(y)
        reasons.append(REASONS.as_dict())
    assert made[0].dtype == find_dtype(dtype)
    close(made[0], made[1])
    for half, full in zip(*both, strict=True):
        close(half.grad, full.grad)
    assert reasons[0].keys() <= reasons[1].keys()


@over_halves
def test_gradients_are_added(dtype: str) -> None:
    (x, w), (x32, w32) = drawn([PLAIN, (7, 24)], dtype)
    for a in (x, w, x32, w32):
        a.attach_grad("add")
    for _ in range(3):
        for data, weight in ((x, w), (x32, w32)):
            with mx.autograd.record():
                y = mx.nd.FullyConnected(data, weight, num_hidden=7, no_bias=True)
            y.backward()
    close(x.grad, x32.grad)
    close(w.grad, w32.grad)


@over_halves
def test_a_view_is_read_and_written(dtype: str) -> None:
    (x,), (x32,) = drawn([(4, 6, 5, 5)], dtype)
    y = mx.nd.zeros((4, 6, 5, 5), dtype=dtype)
    mx.nd.relu(x[1:3], out=y[2:4])
    close(y[2:4], mx.nd.relu(x32[1:3]))
    assert not y[:2].asnumpy().any()
    mx.nd.relu(x, out=x)
    close(x, mx.nd.relu(x32))


@over_halves
def test_layouts_are_kept_between_operators(dtype: str) -> None:
    (x, w), (x32, w32) = drawn([IMAGE, (32, 6, 3, 3)], dtype)
    args: dict[str, Any] = {"kernel": (3, 3), "num_filter": 32, "no_bias": True}
    y, y32 = mx.nd.Convolution(x, w, **args), mx.nd.Convolution(x32, w32, **args)
    assert y.layout == y32.layout
    z = mx.nd.Pooling(y, kernel=(2, 2), pool_type="max")
    assert z.layout == mx.nd.Pooling(y32, kernel=(2, 2), pool_type="max").layout
    close(z, mx.nd.Pooling(y32, kernel=(2, 2), pool_type="max"))


@over_halves
def test_an_executor_keeps_weights_and_sees_writes_to_them(dtype: str) -> None:
    data, weight = mx.sym.var("data"), mx.sym.var("weight")
    net = mx.sym.Convolution(data, weight, kernel=(3, 3), num_filter=20, no_bias=True)
    (x, w), (x32, w32) = drawn([IMAGE, (20, 6, 3, 3)], dtype)
    half = net.bind(mx.cpu(), {"data": x, "weight": w}, grad_req="null")
    full = net.bind(mx.cpu(), {"data": x32, "weight": w32}, grad_req="null")
    for turn in range(8):
        if turn == 5:
            w[:], w32[:] = -2 * w, -2 * w32
        close(half.forward()[0], full.forward()[0])
        if turn == 4:
            assert half.capture_state == "captured"


@over_halves
def test_statistics_are_float32(dtype: str) -> None:
    (x,), (x32,) = drawn([IMAGE], dtype)
    gamma, beta = mx.nd.ones((6,)), mx.nd.zeros((6,))
    made = []
    for data in (x, x32):
        mean, var = mx.nd.zeros((6,)), mx.nd.ones((6,))
        data.attach_grad()
        with mx.autograd.record():
            y = mx.nd.BatchNorm(data, gamma, beta, mean, var, fix_gamma=False)
        y.backward()
        made.append((y, data.grad, mean, var))
    for half, full in zip(*made, strict=True):
        close(half, full)


@over_halves
@pytest.mark.parametrize("other", ["float16", "bfloat16", "float32"])
def test_casts_are_native(dtype: str, other: str) -> None:
    (x,), _ = drawn([IMAGE], dtype)
    REASONS.reset()
    got = mx.nd.Cast(x, dtype=other)
    assert mx.fallback_reasons() == {}
    np.testing.assert_array_equal(got.asnumpy().astype("f4"),
                                  x.asnumpy().astype(find_dtype(other)).astype("f4"))


def test_what_is_refused_in_float32_too_says_why() -> None:
    x = mx.nd.ones((2, 3), dtype="float16")
    REASONS.reset()
    with config.override(NDRT_ONEDNN=False):
        mx.nd.relu(x)
    assert list(mx.fallback_reasons()) == [("relu", "NDRT_ONEDNN=0")]
