"""Ranges of sums of 8-bit products and biases in their steps; what the kernels refuse."""

from __future__ import annotations

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import kernel

F = np.float32
ENDS = [np.array([value], "f4") for value in (-1.0, 2.5, -0.7, 0.9, -1.5, 1.0)]


@pytest.mark.parametrize("most", [127, 255])
def test_product_range(most: int) -> None:
    low, high = np.zeros(2, "f4"), np.zeros(2, "f4")
    kernel(lib.NDRT_KERNEL_PRODUCT_RANGE, (), [low, high, *ENDS[:4]], (most, 127))
    top = F(2.5) / F(most) * (F(0.9) / F(127)) * F(2**31)
    assert (low.tolist(), high.tolist()) == ([-top, 0], [top, 0])


@pytest.mark.parametrize("most", [0, 1e-30, 3])
def test_product_scale(most: float) -> None:
    """Ranges of nothing but 0 have scales of infinity."""
    scale, end = np.zeros(2, "f4"), np.full(1, most, "f4")
    with np.errstate(all="ignore"):
        left, right = F(127.5) / F(2.5), F(127.5) / F(most)
        for gives_floats, want in ((1, F(1.0 / np.float64(left) / np.float64(right))),
                                   (0, F(40) / left / right)):
            kernel(lib.NDRT_KERNEL_PRODUCT_SCALE, (gives_floats,), [scale, *ENDS[:2], -end, end],
                   (40.0,))
            assert scale.tolist() == [want, 0]


@pytest.mark.parametrize("left_signed", [0, 1])
def test_product_factor(left_signed: int) -> None:
    factor = np.zeros(2, "f4")
    step = F(127.5 if left_signed else 255.5) / F(2.5) * (F(255.5) / F(0.9))
    kernel(lib.NDRT_KERNEL_PRODUCT_FACTOR, (left_signed, 0), [factor, *ENDS[:4]], (40.0, 0.125))
    assert factor.tolist() == [F(40) / step * F(0.125), 0]
    kernel(lib.NDRT_KERNEL_PRODUCT_FACTOR, (left_signed, 1),
           [factor, *ENDS[:2], *[np.zeros(1, "f4")] * 2], (40.0, 1.0))
    step = F(127.5 if left_signed else 255.5) / F(2.5) * F(2**31)
    assert factor.tolist() == [F(40) / step, 0]


@pytest.mark.parametrize("is_signed", [0, 1])
@pytest.mark.parametrize("n", [0, 1, 8, 37])
def test_bias_in_steps_of_sums(n: int, is_signed: int) -> None:
    bias = np.random.default_rng(n).integers(-128, 128, n).astype("i1")
    out = np.full(n + 1, 7, "i4")
    kernel(lib.NDRT_KERNEL_WHOLE_BIAS, (n, 1, is_signed), [out, np.append(bias, bias[:1]), *ENDS])
    step = F(127.5 if is_signed else 255.5) / F(2.5) * (F(127.5) / F(0.9)) * F(1.5) / F(127.5)
    np.testing.assert_array_equal(out[:-1], np.trunc(bias.astype("f4") * step))
    kernel(lib.NDRT_KERNEL_WHOLE_BIAS, (n, 0, is_signed), [out, np.append(bias, bias[:1])])
    np.testing.assert_array_equal(out[:-1], bias)
    assert out[-1] == 7


@pytest.mark.parametrize("least", [0.0, 1e-12])
def test_what_int32_can_not_hold_becomes_its_end(least: float) -> None:
    small, out = np.full(1, least, "f4"), np.zeros(3, "i4")
    kernel(lib.NDRT_KERNEL_WHOLE_BIAS, (3, 1, 1),
           [out, np.array([1, 0, -1], "i1"), small, small, *ENDS[2:]])
    assert out.tolist() == [2**31 - 1, 0, -2**31]


@pytest.mark.parametrize("place", range(6))
def test_a_range_of_nan_is_refused(place: int) -> None:
    ends, out, bias = list(ENDS), np.zeros(1, "i4"), np.ones(1, "i1")
    ends[place] = np.full(1, np.nan, "f4")
    with pytest.raises(ParameterError, match="whole bias: an end of a range is nan"):
        kernel(lib.NDRT_KERNEL_WHOLE_BIAS, (1, 1, 1), [out, bias, *ends])
    if place < 4:
        with pytest.raises(ParameterError, match="product range: an end of a range is nan"):
            kernel(lib.NDRT_KERNEL_PRODUCT_RANGE, (), [out.view("f4"), out.view("f4"), *ends[:4]],
                   (127, 127))
        for which in (lib.NDRT_KERNEL_PRODUCT_SCALE, lib.NDRT_KERNEL_PRODUCT_FACTOR):
            with pytest.raises(ParameterError, match="an end of a range is nan"):
                kernel(which, (1, 1), [out.view("f4"), *ends[:4]], (1.0, 1.0))


def test_refuses() -> None:
    one = np.zeros(1, "f4")
    with pytest.raises(ParameterError, match="whole bias: -1 elements"):
        kernel(lib.NDRT_KERNEL_WHOLE_BIAS, (-1, 0, 0), [one, one])
    with pytest.raises(ParameterError, match="array 2 has no bytes"):
        kernel(lib.NDRT_KERNEL_WHOLE_BIAS, (1, 1, 0), [one, one])
    with pytest.raises(ParameterError, match="array 5 has no bytes"):
        kernel(lib.NDRT_KERNEL_PRODUCT_RANGE, (), [one] * 5, (127, 127))
