"""Windows over 8-bit numbers in int32, against sums of Python; what the kernel refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.quantization.ranges import rounded
from tests.native.helpers import DTYPES, kernel

BLOCK, PANEL = lib.NDRT_WHOLE_BLOCK, lib.NDRT_WHOLE_PANEL


def packed(weight: Any) -> Any:
    """(filters, y, x, channels) as the kernel reads it."""
    lines = weight.reshape(*weight.shape[:2], -1)
    padded = np.pad(lines, [(0, -len(lines) % BLOCK), (0, 0), (0, lines.shape[2] % 2)])
    blocks = padded.reshape(len(padded) // BLOCK, BLOCK, padded.shape[1], -1, 2)
    return np.ascontiguousarray(blocks.transpose(0, 2, 3, 1, 4))


def run(data: Any, weight: Any, bias: Any, strides: Any, dilate: Any, pad: Any, out: Any,
        nthreads: int = 1, scale: Any = None, dtype: str = "i4", rectify: bool = False) -> Any:
    """The kernel's result, and 7 behind it."""
    filters, *window, channels = weight.shape
    slots = max(nthreads, 1)
    wide = window[1] * channels
    scratch = np.zeros(slots * (PANEL * window[0] * (wide + wide % 2) + lib.NDRT_WHOLE_SLACK), "i2")
    made = np.full(int(np.prod(data.shape[:1] + out)) * filters + 1, 7, dtype)
    dims = (data.shape[0], channels, *data.shape[1:3], filters, *window, *strides, *dilate, *pad,
            *out, data.dtype == np.int8, slots, DTYPES[made.dtype], rectify)
    kernel(lib.NDRT_KERNEL_WHOLE_WINDOWS, dims,
           [made, np.ascontiguousarray(data), packed(weight), scratch, bias, scale], (), nthreads)
    return made


def wanted(data: Any, weight: Any, bias: Any, strides: Any, dilate: Any, pad: Any, out: Any) -> Any:
    x, w = data.astype(np.int64), weight.astype(np.int64)
    images, height, width, _ = x.shape
    made = np.zeros((images, *out, len(w)), np.int64)
    for line, column, j, i in np.ndindex(*out, *w.shape[1:3]):
        y = line * strides[0] - pad[0] + j * dilate[0]
        z = column * strides[1] - pad[1] + i * dilate[1]
        if 0 <= y < height and 0 <= z < width:
            made[:, line, column] += x[:, y, z] @ w[:, j, i].T
    sums = made.astype(np.int32)
    if bias is None:
        return sums
    return np.clip(sums.astype(np.int64) + bias, -2**31, 2**31 - 1).astype(np.int32)


numbers = st.integers(1, 3)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(("i1", "u1")), st.integers(0, 3), st.tuples(*[st.integers(1, 9)] * 2),
       st.integers(1, 37), st.integers(1, 50), st.tuples(numbers, numbers),
       st.tuples(numbers, numbers), st.tuples(numbers, numbers),
       st.tuples(*[st.integers(0, 3)] * 2), st.tuples(*[st.integers(1, 7)] * 2), st.booleans(),
       st.integers(0, 3), st.integers(0, 9),
       st.sampled_from(((None, "i4"), (1e-3, "i1"), (2e-4, "u1"), (np.nan, "i1"), (np.nan, "u1"),
                        (np.inf, "i1"), (0.25, "u1"))), st.booleans())
def test_equals_numpy(dtype: str, images: int, size: Any, channels: int, filters: int,
                      window: Any, strides: Any, dilate: Any, pad: Any, out: Any, with_bias: bool,
                      nthreads: int, seed: int, made_as: Any, rectify: bool) -> None:
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    data = rng.integers(info.min, info.max + 1, (images, *size, channels)).astype(dtype)
    weight = rng.integers(-128, 128, (filters, *window, channels)).astype("i1")
    bias = rng.integers(-2**31, 2**31, filters).astype("i4") if with_bias else None
    scale, kind = made_as
    factor = None if scale is None else np.array([scale], "f4")
    made = run(data, weight, bias, strides, dilate, pad, out, nthreads, factor, kind, rectify)
    want = wanted(data, weight, bias, strides, dilate, pad, out)
    if factor is not None:
        with np.errstate(all="ignore"):
            want = rounded(want.astype("f4") * factor, np.dtype(kind))
        want = np.maximum(want, 0) if rectify else want
    np.testing.assert_array_equal(made[:-1].reshape(want.shape), want)
    assert made[-1] == 7


@pytest.mark.parametrize(("dtype", "x", "w"), [
    ("u1", 255, 127), ("u1", 255, -128), ("i1", 127, 127), ("i1", -128, -128), ("i1", -128, 127)])
@pytest.mark.parametrize("rows", range(1, 8))
def test_ends_do_not_saturate(dtype: str, x: int, w: int, rows: int) -> None:
    data, weight = np.full((rows, 1, 1, 64), x, dtype), np.full((17, 1, 1, 64), w, "i1")
    made = run(data, weight, None, (1, 1), (1, 1), (0, 0), (1, 1))
    assert set(made[:-1].tolist()) == {64 * x * w}


def test_sums_come_round() -> None:
    data, weight = np.full((1, 1, 1, 70000), 255, "u1"), np.full((1, 1, 1, 70000), 127, "i1")
    made = run(data, weight, None, (1, 1), (1, 1), (0, 0), (1, 1))
    assert made[0] == 70000 * 255 * 127 - 2**32


def test_a_bias_ends_where_int32_does() -> None:
    data, weight = np.ones((1, 1, 1, 2), "i1"), np.array([[1], [-1]] * 4, "i1")
    bias = np.array([2**31 - 1, -2**31, -2**31, 2**31 - 1, 2**31 - 3, 2 - 2**31, 5, -5], "i4")
    weight = np.repeat(weight, 2, 1).reshape(8, 1, 1, 2)
    made = run(data, weight, bias, (1, 1), (1, 1), (0, 0), (1, 1))
    assert made[:-1].tolist() == [2**31 - 1, -2**31, 2 - 2**31, 2**31 - 3, 2**31 - 1, -2**31, 7, -7]


GOOD = [1, 2, 3, 3, 4, 1, 1, 1, 1, 1, 1, 0, 0, 3, 3, 1, 1, lib.NDRT_S32, 0]


@pytest.mark.parametrize(("at", "value", "error"), [
    *((at, -1, "a number is out of range") for at in range(15)), (16, 0, "out of range"),
    (17, lib.NDRT_F32, "a kind that there is no form for"),
    (0, 2**31, "out of range"), (16, 2**31 - 1, "more elements than can be")])
def test_refuses(at: int, value: int, error: str) -> None:
    dims = [2**30 if value == 2**31 - 1 and place in (1, 5) else given
            for place, given in enumerate(GOOD)]
    dims[at] = value
    with pytest.raises(ParameterError, match=f"whole windows: .*{error}"):
        kernel(lib.NDRT_KERNEL_WHOLE_WINDOWS, dims, [np.zeros(99, "i4")] * 6, ())


def test_refuses_too_few_arrays() -> None:
    with pytest.raises(ParameterError, match="whole windows: array 3 has no bytes"):
        kernel(lib.NDRT_KERNEL_WHOLE_WINDOWS, GOOD, [np.zeros(99, "i4")] * 3, ())


def test_refuses_8_bits_without_a_scale() -> None:
    with pytest.raises(ParameterError, match="whole windows: a kind that there is no form for"):
        kernel(lib.NDRT_KERNEL_WHOLE_WINDOWS, [*GOOD[:-2], lib.NDRT_S8, 0],
               [np.zeros(99, "i4")] * 4, ())
