"""Gradients where a formula would divide by 0 or take the logarithm of it, on both paths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, nd

INF = math.inf
internal = nd._internal

SLOPES: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "prod, a zero": (nd.prod, [[4, 0, 3, 2]], [[0, 24, 0, 0]]),
    "prod, two zeros": (nd.prod, [[4, 0, 3, 0]], [[0, 0, 0, 0]]),
    "prod, overflow": (nd.prod, [[1e30, 1e30]], [[1e30, 1e30]]),
    "nanprod, a zero": (nd.nanprod, [[4, 0, 3, math.nan]], [[0, 12, 0, 0]]),
    "power": (nd.broadcast_power, [[0, 0, 2, 0], [2, 0, 0, -1]],
              [[0, 0, 0, -INF], [0, 0, math.log(2), -INF]]),
    "power of a number": (lambda x: x ** 0, [[0, 1]], [[0, 0]]),
    "number to a power": (lambda x: 0 ** x, [[2, 0, 0.5]], [[0, 0, 0]]),
    "hypot": (nd.broadcast_hypot, [[0, 3], [0, 4]], [[0, 0.6], [0, 0.8]]),
    "hypot with a number": (lambda x: internal._hypot_scalar(x, scalar=0), [[0, 3]], [[0, 1]]),
    "norm": (nd.norm, [[0, 0]], [[0, 0]]),
    "norms of rows": (lambda x: nd.norm(x, axis=1), [[[0, 0], [3, 4]]], [[[0, 0], [0.6, 0.8]]]),
    "det": (nd.linalg.det, [[[1, 2], [2, 4]]], [[[4, -2], [-2, 1]]]),
    "dets": (nd.linalg.det, [[[[1, 2], [3, 4]], [[0, 0], [0, 5]], [[0, 0], [0, 0]]]],
             [[[[4, -3], [-2, 1]], [[5, 0], [0, 0]], [[0, 0], [0, 0]]]]),
    "gamma, exponential there": (internal._random_pdf_gamma, [[[0]], [1], [2]],
                                 [[[-4]], [-INF], [1]]),
    "gamma, linear there": (internal._random_pdf_gamma, [[[0]], [2], [3]], [[[9]], [0], [0]]),
    "poisson": (internal._random_pdf_poisson, [[[0], [1], [2]], [0, 0, 0]],
                [[[0]] * 3, [-1, 1, 0]]),
    "negative binomial": (internal._random_pdf_negative_binomial,
                          [[[0], [1], [2]], [3, 3, 3], [1, 1, 1]],
                          [[[0]] * 3, [0, 0, 0], [3, -3, 0]]),
    "dirichlet": (internal._random_pdf_dirichlet, [[[0, 0.5, 0.5]], [2, 1, 1]],
                  [[[6, 0, 0]], [0, 0, 0]]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", SLOPES)
def test_slope(name: str, native: bool) -> None:
    function, given, wanted = SLOPES[name]
    arrays = [nd.array(np.array(x, np.float32)) for x in given]
    for x in arrays:
        x.attach_grad()
    with config.override(NDRT_ONEDNN=native), mx.autograd.record():
        y = function(*arrays)
        y.backward()
    for i, (x, slope) in enumerate(zip(arrays, wanted, strict=True)):
        np.testing.assert_allclose(x.grad.asnumpy(), slope, rtol=1e-5, atol=1e-6,
                                   err_msg=f"{name}, input {i}")


def test_second_slope_of_a_product() -> None:
    """The slope of x y z by y and z at zeros is x."""
    x = nd.array([5.0, 0.0, 0.0])
    x.attach_grad()
    with mx.autograd.record():
        first = mx.autograd.grad(nd.prod(x), [x], create_graph=True)[0]
        first[1].backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [0, 0, 5])


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("outputs", [False, True])
@pytest.mark.parametrize("eps", [1e-5, 1e10, 1e30])
def test_moving_variance_with_any_eps(eps: float, outputs: bool, native: bool) -> None:
    """It is the variance, whatever is added to that."""
    data = np.random.default_rng(0).normal(0, 2, (8, 3, 4, 4)).astype(np.float32)
    x, gamma, beta, mean, var = (nd.array(a) for a in (data, *np.ones((4, 3))))
    x.attach_grad()
    with config.override(NDRT_ONEDNN=native):
        with mx.autograd.record():
            y = nd.BatchNorm(x, gamma, beta, mean, var, eps=eps, momentum=0.5,
                             output_mean_var=outputs)
        mx.autograd.backward(y[0] if outputs else y)
    np.testing.assert_allclose(var.asnumpy(), 0.5 + 0.5 * data.var(axis=(0, 2, 3)), rtol=1e-5)
    if outputs:
        np.testing.assert_allclose(y[2].asnumpy(), (data.var(axis=(0, 2, 3)) + eps) ** -0.5,
                                   rtol=1e-5)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 5), (2, 4, 3, 3)])
@pytest.mark.parametrize("layout", [None, "channels last"])
def test_prelu_above_zero_is_what_it_was(shape: tuple[int, ...], layout: str | None,
                                         native: bool) -> None:
    """Whatever the slope is: it counts below only."""
    data = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    slopes = np.array([INF, -INF, math.nan, 2], np.float32)
    x = nd.array(data)
    if layout and len(shape) > 2:
        x = x.to_mkldnn()
    with config.override(NDRT_ONEDNN=native):
        for _ in range(3):
            y = nd.LeakyReLU(x, nd.array(slopes), act_type="prelu").asnumpy()
            column = slopes.reshape(-1, *(1,) * (len(shape) - 2))
            np.testing.assert_array_equal(y, np.where(data > 0, data, data * column))


@pytest.mark.parametrize("act_type", ["elu", "selu"])
def test_exponential_units_keep_their_digits_near_zero(act_type: str) -> None:
    x = -np.logspace(-7, 1, 33).astype(np.float32)
    factor = 1.6732632423543772 * 1.0507009873554805 if act_type == "selu" else 0.25
    y = nd.LeakyReLU(nd.array(x), act_type=act_type).asnumpy()
    np.testing.assert_allclose(y, factor * np.expm1(x.astype(np.float64)), rtol=4e-7)
    up = nd.LeakyReLU(nd.array(-x), act_type=act_type).asnumpy()
    np.testing.assert_allclose(up, -x * (1.0507009873554805 if act_type == "selu" else 1),
                               rtol=1e-6)
