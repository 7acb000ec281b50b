"""Ranges so small that no float says how many steps 1 has: what lies in them counts as 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, nd

# 127.5 and 255.5 by the least of these that is not 0 are beyond float32
TINY = float(np.finfo(np.float32).tiny)
UNITS = (0.0, 1e-45, 1e-40, 1e-38, 3e-37)
over_units = pytest.mark.parametrize("unit", UNITS)
over_dtypes = pytest.mark.parametrize("dtype", ["int8", "uint8"])
DATA = np.array([[0, 1, -1, 0.25], [1, 1, -0.5, 0]], np.float32)


def one(value: float) -> Any:
    return nd.array([value])


def ends(unit: float, dtype: str = "int8") -> tuple[Any, Any]:
    return one(0 if dtype == "uint8" else -unit), one(unit)


def given(unit: float, dtype: str) -> Any:
    """Floats in such a range."""
    x = abs(DATA) if dtype == "uint8" else DATA
    return nd.array(x * np.float32(unit))


def whole(dtype: str) -> Any:
    return nd.array([[0, 7, 127, 1], [-128, -1, 5, 0]] if dtype == "int8" else
                    [[0, 7, 255, 1], [128, 1, 5, 0]], dtype=dtype)


def both_ways(function: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
    """The outputs, the same natively and in NumPy; native code may take as 0 what has no full
    precision."""
    found = []
    for is_native in (True, False):
        with config.override(NDRT_ONEDNN=is_native):
            made = function(*args, **options)
            found.append([x.asnumpy() for x in (made if isinstance(made, list) else [made])])
    for native, plain in zip(*found, strict=True):
        np.testing.assert_allclose(native, plain, rtol=0, atol=256 * TINY)
        assert native.dtype == plain.dtype
    return found[0]


@over_units
@over_dtypes
def test_floats_become_0(unit: float, dtype: str) -> None:
    x = given(unit, dtype)
    limits = {"min_calib_range": 0 if dtype == "uint8" else -unit, "max_calib_range": unit}
    for function, args, more in ((nd.contrib.quantize, ends(unit, dtype), {}),
                                 (nd.contrib.quantize_v2, (), {}),
                                 (nd.contrib.quantize_v2, (), limits)):
        made, low, high = both_ways(function, x, *args, out_type=dtype, **more)
        assert not made.any()
        assert abs(high - np.float32(unit)) <= TINY
        assert low in (0, -high)
        assert not np.any(both_ways(nd.contrib.dequantize, nd.array(made, dtype=dtype),
                                    nd.array(low), nd.array(high)))


@over_units
@over_dtypes
def test_sums_become_0(unit: float, dtype: str) -> None:
    sums = nd.array([[0, 2**30, -2**30], [1, -5, 77]], dtype="int32")
    low = 0 if dtype == "uint8" else -unit
    made, *_ = both_ways(nd.contrib.requantize, sums, *ends(unit), min_calib_range=low,
                         max_calib_range=unit, out_type=dtype)
    assert not made.any()
    made, *_ = both_ways(nd.contrib.requantize, nd.zeros((2, 3), dtype="int32"), *ends(2.0),
                         out_type=dtype)
    assert not made.any()


@over_units
def test_numbers_of_8_bits_become_floats(unit: float) -> None:
    for dtype, most in (("int8", 127.5), ("uint8", 255.5)):
        made, = both_ways(nd.contrib.dequantize, whole(dtype), *ends(unit, dtype))
        step = np.float32(unit) / np.float32(most)
        np.testing.assert_allclose(made, whole(dtype).asnumpy().astype(np.float32) * step,
                                   rtol=1e-6, atol=256 * TINY)


@over_units
@over_dtypes
def test_terms_add_nothing(unit: float, dtype: str) -> None:
    large, small = whole(dtype), whole(dtype)
    calibrated = {"min_calib_range": -2.0, "max_calib_range": 2.0}
    for limits in ({}, calibrated):
        made, low, high = both_ways(nd.contrib.quantized_elemwise_add, large, small,
                                    *ends(2.0, dtype), *ends(unit, dtype), **limits)
        most = 2.0**31 if made.dtype == np.int32 else 127.5 if dtype == "int8" else 255.5
        got = made.astype(np.float64) * float(high[0]) / most
        step = 2 / (127.5 if dtype == "int8" else 255.5)
        np.testing.assert_allclose(got, large.asnumpy() * step, atol=step)
    tiny = {"min_calib_range": -unit, "max_calib_range": unit}
    for limits in ({}, tiny):
        zeros = nd.zeros((2, 4), dtype=dtype)
        made, low, high = both_ways(nd.contrib.quantized_elemwise_add, zeros, zeros,
                                    *ends(unit, dtype), *ends(unit, dtype), **limits)
        assert not made.any()
        assert np.isfinite([low, high]).all()


@over_units
def test_products_are_0(unit: float) -> None:
    for limits in ({"min_calib_range": -unit, "max_calib_range": unit},
                   {"min_calib_range": -2.0, "max_calib_range": 2.0}):
        made, *_ = both_ways(nd.contrib.quantized_elemwise_mul, whole("int8"), whole("int8"),
                             *ends(unit), *ends(unit), **limits)
        assert not made.any()


@over_units
@pytest.mark.parametrize("kinds", [("int8", "int8"), ("int8", "uint8"), ("uint8", "uint8")])
def test_what_is_joined_becomes_0(unit: float, kinds: tuple[str, str]) -> None:
    for other in (unit, 3.0):
        made, _, high = both_ways(
            nd.contrib.quantized_concat, nd.zeros((2, 4), dtype=kinds[0]), whole(kinds[1]),
            *ends(unit, kinds[0]), *ends(other, kinds[1]), dim=1, num_args=2)
        assert not made[:, :4].any()
        assert abs(high - np.float32(other)) <= TINY


@over_units
def test_batch_normalization_gives_0(unit: float) -> None:
    gamma, beta, mean, var = nd.ones(4), nd.zeros(4), nd.zeros(4), nd.ones(4)
    for x_unit in (unit, 2.0):
        made, *_ = both_ways(
            nd.contrib.quantized_batch_norm, whole("int8"), gamma, beta, mean, var, *ends(x_unit),
            min_calib_range=-unit, max_calib_range=unit, axis=1)
        assert not made.any()


@pytest.mark.parametrize("value", [0.0, 1e-45, 1e-38, -1e-38, 1.0, -0.5, 1e30])
def test_the_same_number_everywhere_stays_what_it_is(value: float) -> None:
    """As whole numbers with a shift, whose range has no width."""
    x = np.full((3, 2), value, np.float32)
    made, scale, shift = nd.contrib.quantize_asym(nd.array(x))
    assert np.isfinite([scale.asscalar(), shift.asscalar()]).all()
    back = (made.asnumpy().astype(np.float32) - shift.asnumpy()) / scale.asnumpy()
    np.testing.assert_allclose(back, x, rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_an_lstm_over_the_same_numbers(value: float) -> None:
    data = mx.sym.var("data")
    net = mx.sym.RNN(data, mx.sym.var("w"), mx.sym.var("h"), mx.sym.var("c"), mode="lstm",
                     state_size=3, num_layers=1, name="rnn")
    rng = np.random.default_rng(2)
    args = {"w": nd.array(rng.normal(size=4 * 3 * (2 + 3 + 2)) * 0.3), "h": nd.zeros((1, 2, 3)),
            "c": nd.zeros((1, 2, 3))}
    x = nd.array(np.full((4, 2, 2), value))
    made, params, _ = mx.contrib.quantization.quantize_model(
        net, args, {}, label_names=None, calib_mode="none", quantize_mode="full")
    want = net.bind(mx.cpu(), {**args, "data": x}, grad_req="null").forward()[0].asnumpy()
    got = made.bind(mx.cpu(), {**args, **params, "data": x}, grad_req="null").forward()[0].asnumpy()
    assert np.isfinite(got).all()
    if not value:  # else hidden states below 0 have no room
        np.testing.assert_allclose(got, want, atol=0.02)
