"""BatchNorm in training keeps the deviation of data that lies far from 0, on both paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, nd
from ndarray_rt.native import lib
from tests.native.helpers import kernel

EPS = 1e-5
RNG = np.random.default_rng(3)
SHAPES = [(4, 64, 20, 20), (2, 20, 3, 3), (2, 3, 7), (32, 5), (3, 17, 4, 5, 6), (2, 19, 9, 9)]
OPERATORS: dict[str, Callable[..., Any]] = {
    "BatchNorm": nd.BatchNorm, "BatchNormWithReLU": nd.contrib.BatchNormWithReLU,
    "SyncBatchNorm": nd.contrib.SyncBatchNorm}


def far(shape: tuple[int, ...], mean: float) -> Any:
    """Every other channel lies around `mean`, the others around 0."""
    column = (1, -1) + (1,) * (len(shape) - 2)
    means = np.where(np.arange(shape[1]) % 2, 0, mean).reshape(column)
    return (RNG.standard_normal(shape) + means).astype(np.float32)


def normal(x: Any) -> tuple[Any, Any, Any]:
    """(normalized, mean, variance); the mean as float32 holds it."""
    axes = tuple(i for i in range(x.ndim) if i != 1)
    wide = x.astype(np.float64)
    mean, var = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    return ((wide - mean.astype(np.float32)) / np.sqrt(var + EPS), mean.ravel(), var.ravel())


@pytest.fixture(params=[False, True], ids=["numpy", "native"])
def path(request: pytest.FixtureRequest) -> Iterator[None]:
    with config.override(NDRT_ONEDNN=request.param):
        yield


def vectors(channels: int) -> list[Any]:
    return [nd.array(v) for v in (np.linspace(0.5, 2, channels), np.linspace(-1, 1, channels),
                                  np.zeros(channels), np.ones(channels))]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mean", [-3e5, 1e7])
@pytest.mark.parametrize("special", [False, True])
def test_recorded(name: str, shape: tuple[int, ...], mean: float, special: bool) -> None:
    data = far(shape, mean)
    x = nd.array(data).to_mkldnn() if special and len(shape) > 2 else nd.array(data)
    dy = RNG.standard_normal(shape).astype(np.float32)
    gamma, beta, moving_mean, moving_var = vectors(shape[1])
    x.attach_grad()
    more = {"key": "far"} if name == "SyncBatchNorm" else {}
    with mx.autograd.record():
        y = OPERATORS[name](x, gamma, beta, moving_mean, moving_var, eps=EPS, momentum=0.5,
                            fix_gamma=False, **more)
    y.backward(nd.array(dy))
    column = (1, -1) + (1,) * (len(shape) - 2)
    axes = tuple(i for i in range(len(shape)) if i != 1)
    made, means, variances = normal(data)
    slope = gamma.asnumpy().reshape(column)
    out = made * slope + beta.asnumpy().reshape(column)
    if name == "BatchNormWithReLU":
        dy = dy * (out > 0)
        out = np.maximum(out, 0)
    np.testing.assert_allclose(y.asnumpy(), out, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moving_mean.asnumpy(), 0.5 * means, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(moving_var.asnumpy(), 0.5 + 0.5 * variances, rtol=1e-5)
    part = (dy - dy.mean(axes, keepdims=True)
            - made * (dy * made).mean(axes, keepdims=True))
    grad = slope / np.sqrt(variances + EPS).reshape(column) * part
    np.testing.assert_allclose(x.grad.asnumpy(), grad, rtol=1e-3, atol=1e-3)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("fix", [False, True])
def test_bound(axis: int, fix: bool) -> None:
    """Run after run, captured or not, with data that comes and goes far away."""
    shape = (3, 24, 6, 7)
    turned = (0, 2, 3, 1) if axis == -1 else (0, 1, 2, 3)
    symbol = mx.sym.BatchNorm(mx.sym.var("x"), eps=EPS, axis=axis, fix_gamma=fix, name="bn")
    bound = symbol.simple_bind(mx.cpu(), x=tuple(shape[i] for i in turned))
    gamma, beta, _, _ = vectors(24)
    bound.arg_dict["bn_gamma"][:], bound.arg_dict["bn_beta"][:] = gamma, beta
    column = (1, -1, 1, 1)
    for mean in (0, -3e5, 0, 1e6, -3e5, 0):
        data = far(shape, mean)
        (y,) = bound.forward(is_train=True, x=nd.array(data.transpose(turned)))
        made = normal(data)[0] * (1 if fix else gamma.asnumpy().reshape(column))
        wanted = made + beta.asnumpy().reshape(column)
        np.testing.assert_allclose(y.asnumpy(), wanted.transpose(turned), rtol=1e-4, atol=1e-4)
        bound.backward(nd.ones(y.shape))


@pytest.mark.usefixtures("path")
def test_written_over_its_data() -> None:
    data = far((2, 16, 5, 5), -3e5)
    x = nd.array(data)
    with mx.autograd.train_mode():
        nd.BatchNorm(x, *vectors(16), eps=EPS, out=x)
    column = (1, -1, 1, 1)
    wanted = normal(data)[0] + np.linspace(-1, 1, 16).reshape(column)
    np.testing.assert_allclose(x.asnumpy(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("dims", "scale"), [((2, 5, 9, 1), True), ((2, 37, 9, 37), True),
                                             ((3, 21, 4, 8), False), ((1, 16, 3000, 16), True)])
def test_kernel(dims: tuple[int, int, int, int], scale: bool) -> None:
    """What is lost is done again, the rest is not touched, whatever the number of threads."""
    outer, channels, inner, block = dims
    padded = -(-channels // block) * block
    x = (RNG.standard_normal((outer, padded // block, inner, block)) + 3e5).astype("f4")
    by_channel = x.transpose(1, 3, 0, 2).reshape(padded, -1)[:channels].astype("f8")
    gamma, beta = (RNG.standard_normal(channels).astype("f4") for _ in range(2))
    kept = np.arange(channels) % 3 == 0
    first: list[Any] = []
    for nthreads in (1, 2, 5):
        out = np.full_like(x, 7)
        mean, var = np.where(kept, 1, 3e5).astype("f4"), np.ones(channels, "f4")
        kernel(lib.NDRT_KERNEL_BATCH_STATS, list(dims),
               [out, mean, var, x, beta, gamma if scale else None], [EPS], nthreads)
        made = [out, mean, var]
        for got, same in zip(made, first or made, strict=True):
            np.testing.assert_array_equal(got, same)
        first = made
    out, mean, var = first
    np.testing.assert_array_equal(mean[kept], 1)
    np.testing.assert_allclose(mean[~kept], by_channel.mean(1)[~kept], rtol=1e-7)
    np.testing.assert_allclose(var[~kept], by_channel.var(1)[~kept], rtol=1e-5)
    got = out.transpose(1, 3, 0, 2).reshape(padded, -1)
    np.testing.assert_array_equal(got[channels:], 7)
    np.testing.assert_array_equal(got[:channels][kept], 7)
    slope = (gamma if scale else 1) / np.sqrt(var + EPS)
    wanted = (by_channel - mean[:, None]) * np.ravel(slope)[:, None] + beta[:, None]
    np.testing.assert_allclose(got[:channels][~kept], wanted[~kept], rtol=1e-4, atol=1e-5)
