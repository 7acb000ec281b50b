"""Sums and means of float32 are as near to float64's as float32 can tell, whatever the path, the
axes and the layout."""

from __future__ import annotations

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, nd

ONE_ROUNDING = 1.2e-7
SUMS = [((2000, 40), (0,)), ((1, 512, 256), (1,)), ((5, 512, 256), (1,)), ((3, 700, 9), (1,)),
        ((100, 3000), (1,)), ((4000,), (0,)), ((6, 500, 5, 40), (1, 3)),
        ((2, 32, 30, 40), (0, 2, 3))]


def nearly_constant(shape: tuple[int, ...]) -> np.ndarray:
    noise = np.random.default_rng(3).standard_normal(shape)
    return (0.7 + 1e-3 * noise).astype(np.float32)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("shape", "axes"), SUMS)
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums(name: str, shape: tuple[int, ...], axes: tuple[int, ...], native: bool) -> None:
    x = nearly_constant(shape)
    with config.override(NDRT_ONEDNN=native):
        got = getattr(nd, name)(nd.array(x), axis=axes).asnumpy()
    expected = getattr(x.astype(np.float64), name)(axes)
    # one more for a second group of axes, and for the quotient of a mean
    np.testing.assert_allclose(got, expected, rtol=2 * ONE_ROUNDING)


@pytest.mark.parametrize("axes", [(0, 2, 3), (1,), (2, 3), (0, 1, 2, 3)])
def test_sums_of_an_array_in_a_layout(axes: tuple[int, ...]) -> None:
    """A convolution leaves its output in channels-last order or in blocks of channels."""
    rng = np.random.default_rng(0)
    y = nd.Convolution(nd.array(rng.uniform(0.5, 1, (2, 16, 40, 40)).astype(np.float32)),
                       nd.array(rng.uniform(0, 0.1, (32, 16, 3, 3)).astype(np.float32)),
                       num_filter=32, kernel=(3, 3), no_bias=True)
    got = nd.sum(y, axis=axes).asnumpy()
    np.testing.assert_allclose(got, y.asnumpy().sum(axes, np.float64), rtol=2 * ONE_ROUNDING)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("batch", [1, 4])
def test_variance_as_a_difference(batch: int, native: bool) -> None:
    """Some exporters write a layer norm's variance as E[x^2] - E[x]^2: all that is left there of a
    sum is its last digits."""
    x = nearly_constant((batch, 512, 96))
    data = mx.sym.var("x")
    variance = mx.sym.mean(data * data, axis=1) - mx.sym.square(mx.sym.mean(data, axis=1))
    with config.override(NDRT_ONEDNN=native):
        run = variance.bind(mx.cpu(), {"x": nd.array(x)}, grad_req="null")
        for _ in range(3):
            got = run.forward()[0].asnumpy()
    wide = x.astype(np.float64)
    expected = (wide * wide).mean(1) - wide.mean(1) ** 2
    np.testing.assert_allclose(got, expected, rtol=0, atol=2 * ONE_ROUNDING)
