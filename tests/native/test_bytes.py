"""Kernels between floats, int32 sums and numbers of 8 bits, against NumPy; what they refuse."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.nn.batch_norm import BatchNormParams
from ndarray_rt.ops.nn.pool_window import divisors, place_windows, reduce_windows
from ndarray_rt.ops.quantization.batch_norm import affine
from ndarray_rt.ops.quantization.ranges import rounded
from tests.native.helpers import DTYPES, kernel

SIZES = st.sampled_from((0, 1, 3, 31, 32, 33, 100, 4097, 9000))
BYTES = ("i1", "u1")
F = np.float32


def drawn(n: int, dtype: str, seed: int) -> Any:
    """Numbers of a dtype, its ends among them; of floats what is none, halves and 1e30 too."""
    rng = np.random.default_rng(seed)
    if dtype == "f4":
        x = (rng.integers(-600, 600, n) / 2).astype("f4")
        special = [np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0, 126.5, 127.5, -128.5, 0.5, 1.5]
    else:
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, n, dtype, endpoint=True)
        special = [info.min, info.max, 0]
    x[:len(special)] = special[:n]
    return x


def extended(n: int, dtype: str) -> Any:
    return np.full(n + 1, 77, dtype)


@settings(max_examples=120, deadline=None)
@given(SIZES, st.sampled_from(("f4", "i4", *BYTES)), st.sampled_from(BYTES),
       st.sampled_from((1.0, 0.37, 1e30, 0.0, float("inf"), float("nan"), 3e-8)), st.booleans(),
       st.integers(0, 5))
def test_to_bytes(n: int, dtype: str, made: str, scale: float, in_memory: bool,
                  nthreads: int) -> None:
    x, out = drawn(n, dtype, n), extended(n, made)
    kernel(lib.NDRT_KERNEL_TO_BYTES, (n, DTYPES[x.dtype], made == "i1"),
           [out, x, np.array([scale], "f4") if in_memory else None],
           [0.0 if in_memory else scale], nthreads)
    with np.errstate(all="ignore"):
        want = rounded(x.astype("f4") * F(scale), np.dtype(made))
    np.testing.assert_array_equal(out[:-1], want)
    assert out[-1] == 77


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.integers(0, 40), st.integers(0, 3), st.integers(0, 3),
       st.sampled_from(list(product(BYTES, BYTES))), st.sampled_from((1.0, 0.37, float("nan"))))
def test_join_bytes(rows: int, width: int, first: int, behind: int, dtypes: tuple[str, str],
                    scale: float) -> None:
    columns, (dtype, made) = first + width + behind, dtypes
    x, out = drawn(rows * width, dtype, rows), extended(rows * columns, made)
    kernel(lib.NDRT_KERNEL_JOIN_BYTES,
           (rows, width, columns, first, dtype == "i1", made == "i1"),
           [out, x, np.array([scale], "f4")])
    want = np.full((rows, columns), 77, made)
    want[:, first:first + width] = rounded(x.astype("f4") * F(scale),
                                           np.dtype(made)).reshape(rows, width)
    np.testing.assert_array_equal(out[:-1].reshape(rows, columns), want)


@settings(max_examples=40, deadline=None)
@given(SIZES, st.sampled_from(BYTES), st.sampled_from((0.3, 1e37, float("nan"))))
def test_from_bytes(n: int, dtype: str, step: float) -> None:
    x, out = drawn(n, dtype, n), extended(n, "f4")
    kernel(lib.NDRT_KERNEL_FROM_BYTES, (n, dtype == "i1"), [out, x, np.array([step], "f4")])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out[:-1], x.astype("f4") * F(step))


@settings(max_examples=100, deadline=None)
@given(SIZES, st.sampled_from(list(product(BYTES, BYTES, ("i1", "u1", "i4")))),
       st.sampled_from(((1.0, 1.0), (0.37, 0.5), (1e7, 8.4e6), (2.0**24, 2.0**24), (1e38, 1e38),
                        (float("inf"), float("inf")))), st.integers(0, 3))
def test_sum_bytes(n: int, dtypes: tuple[str, str, str], scales: tuple[float, float],
                   nthreads: int) -> None:
    left, right, made = dtypes
    x, y, out = drawn(n, left, n), drawn(n, right, n + 1), extended(n, made)
    kernel(lib.NDRT_KERNEL_SUM_BYTES, (n, left == "i1", right == "i1", DTYPES[out.dtype]),
           [out, x, y, *(np.array([scale], "f4") for scale in scales)], (), nthreads)
    with np.errstate(all="ignore"):
        want = rounded(x.astype("f4") * F(scales[0]) + y.astype("f4") * F(scales[1]),
                       np.dtype(made))
    np.testing.assert_array_equal(out[:-1], want)
    assert out[-1] == 77


@settings(max_examples=60, deadline=None)
@given(SIZES, st.sampled_from(list(product(BYTES, BYTES, BYTES))),
       st.sampled_from(((1e7, 8.4e6, 3e-8), (1e5, -1e5, 4e-6), (1e38, 1e38, 1e-8),
                        (float("inf"), float("inf"), 1.0), (1e7, 1e7, float("nan")))),
       st.booleans())
def test_sum_bytes_over_int32(n: int, dtypes: tuple[str, str, str], scales: Any,
                              rectify: bool) -> None:
    left, right, made = dtypes
    x, y, out = drawn(n, left, n), drawn(n, right, n + 1), extended(n, made)
    kernel(lib.NDRT_KERNEL_SUM_BYTES,
           (n, left == "i1", right == "i1", DTYPES[out.dtype], rectify),
           [out, x, y, *(np.array([scale], "f4") for scale in scales)])
    with np.errstate(all="ignore"):
        between = rounded(x.astype("f4") * F(scales[0]) + y.astype("f4") * F(scales[1]),
                          np.dtype("i4"))
        want = rounded(between.astype("f4") * F(scales[2]), np.dtype(made))
    np.testing.assert_array_equal(out[:-1], np.maximum(want, 0) if rectify else want)
    assert out[-1] == 77


@settings(max_examples=60, deadline=None)
@given(SIZES, st.sampled_from(("i4", "f4", "i1")), st.integers(0, 3),
       st.sampled_from((7.8e-3, 0.37, float("inf"), float("nan"), 0.0)))
def test_multiply_bytes(n: int, made: str, nthreads: int, scale: float) -> None:
    x, y, out = drawn(n, "i1", n), drawn(n, "i1", n + 1), extended(n, made)
    kernel(lib.NDRT_KERNEL_MULTIPLY_BYTES, (n, DTYPES[out.dtype]),
           [out, x, y, np.array([scale], "f4")], (), nthreads)
    products = x.astype("i4") * y
    with np.errstate(all="ignore"):
        floats = products.astype("f4") * F(scale)
        want = {"i4": products, "f4": floats, "i1": rounded(np.trunc(floats), np.dtype("i1"))}
    np.testing.assert_array_equal(out[:-1], want[made])
    assert out[-1] == 77


@pytest.mark.parametrize("n", [0, 1, 31, 100, 9000])
def test_relu_bytes(n: int) -> None:
    x, out = drawn(n, "i1", n), extended(n, "i1")
    kernel(lib.NDRT_KERNEL_RELU_BYTES, (n,), [out, x])
    np.testing.assert_array_equal(out[:-1], np.maximum(x, 0))


@settings(max_examples=60, deadline=None)
@given(SIZES, st.sampled_from(("f4", "i4")), st.integers(0, 3), st.integers(0, 3))
def test_extent(n: int, dtype: str, nthreads: int, kind: int) -> None:
    """Of numbers on both sides of 0, of one, of NaN alone and of infinity."""
    x = drawn(n, dtype, n)
    x = (x, abs(x // 2), np.full_like(x, np.nan if dtype == "f4" else 5),
         np.full_like(x, np.inf if dtype == "f4" else -5))[kind]
    least, greatest = extended(1, "f4"), extended(1, "f4")
    kernel(lib.NDRT_KERNEL_EXTENT, (n, DTYPES[x.dtype]), [least, greatest, x], (), nthreads)
    most = np.finfo("f4").max if dtype == "f4" else 0
    assert least[0] == F(np.fmin.reduce(x, initial=most))
    assert greatest[0] == F(np.fmax.reduce(x, initial=-most))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.sampled_from((1, 3, 20, 33)), st.sampled_from((0, 1, 3, 40)),
       st.sampled_from(BYTES), st.integers(0, 3))
def test_norm_bytes(outer: int, channels: int, inner: int, dtype: str, nthreads: int) -> None:
    x = drawn(outer * channels * inner, dtype, inner).reshape(outer, channels, inner)
    rng = np.random.default_rng(outer)
    gamma, beta, mean = rng.standard_normal((3, channels)).astype("f4")
    var = rng.uniform(0, 2, channels).astype("f4")
    var[0] = -1.0  # of which there is no root
    low, high, factors, shifts = (np.array([-1.5], "f4"), np.array([2.25], "f4"),
                                  extended(channels, "f4"), extended(channels, "f4"))
    kernel(lib.NDRT_KERNEL_NORM_FACTORS, (channels,),
           [factors, shifts, gamma, beta, mean, var, low, high], (1e-3, 1.25))
    ins = [x, gamma, beta, mean, var, low, high]
    with np.errstate(all="ignore"):
        factor, shift = affine(BatchNormParams.parse({"eps": 1e-3}, "op"), ins, F(-1.25), F(0.5))
        np.testing.assert_array_equal(factors[:-1], factor)
        np.testing.assert_array_equal(shifts[:-1], shift)
        whole = x if dtype == "i1" else rounded(x.astype("f4") * (F(127.5) / F(255.5)),
                                                np.dtype("i1"))
        want = rounded(whole.astype("f4") * factor[:, None] + shift[:, None], np.dtype("i1"))
    out = extended(x.size, "i1")
    kernel(lib.NDRT_KERNEL_NORM_BYTES, (*x.shape, dtype == "i1"), [out, x, factors, shifts], (),
           nthreads)
    np.testing.assert_array_equal(out[:-1].reshape(x.shape), want)
    assert [out[-1], factors[-1], shifts[-1]] == [77] * 3


AXIS = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))


@settings(max_examples=150, deadline=None)
@given(st.tuples(AXIS, AXIS, AXIS), st.integers(0, 2), st.sampled_from((0, 1, 3, 20, 130)),
       st.sampled_from(BYTES), st.booleans(), st.booleans(), st.sampled_from(("valid", "full")),
       st.integers(0, 3))
def test_pool_bytes(axes: Any, outer: int, lanes: int, dtype: str, is_max: bool, pads: bool,
                    convention: str, nthreads: int) -> None:
    sides, windows, stride, pad = zip(*axes, strict=True)
    windows = tuple(min(w, s + 2 * p) for w, s, p in zip(windows, sides, pad, strict=True))
    win = place_windows(windows, stride, pad, convention, False, sides)
    x = drawn(outer * lanes * int(np.prod(sides)), dtype, lanes).reshape(outer, *sides, lanes)
    out = extended(outer * lanes * int(np.prod(win.out)), dtype)
    kernel(lib.NDRT_KERNEL_POOL_BYTES,
           (outer, lanes, *win.data, *win.out, *win.kernel, *win.stride, *win.pad, dtype == "i1",
            is_max, pads), [out, x], (), nthreads)
    moved = np.moveaxis(x, -1, 1)
    if is_max:
        want = reduce_windows(moved, win, np.maximum, int(np.iinfo(dtype).min))
    else:
        size = np.full((1, 1, 1), np.prod(win.kernel)) if pads else divisors(win, False)
        sums = reduce_windows(moved.astype("i8"), win, np.add, 0)
        want = rounded(sums.astype("f4") / size.astype("f4"), np.dtype(dtype))
    np.testing.assert_array_equal(out[:-1].reshape(outer, *win.out, lanes),
                                  np.moveaxis(want, 1, -1))
    assert out[-1] == 77


ONE = np.zeros(1, "f4")


@pytest.mark.parametrize(("which", "counts", "arrays", "error"), [
    (lib.NDRT_KERNEL_TO_BYTES, (-1, lib.NDRT_F32, 1), [ONE] * 3, "bytes: -1 elements"),
    (lib.NDRT_KERNEL_TO_BYTES, (1, lib.NDRT_F16, 1), [ONE] * 3, "a kind that there is no form"),
    (lib.NDRT_KERNEL_TO_BYTES, (1, lib.NDRT_F32, 1), [ONE, None], "array 1 has no bytes"),
    (lib.NDRT_KERNEL_JOIN_BYTES, (1, 3, 4, 2, 1, 1), [ONE] * 3, "bytes: -1 elements"),
    (lib.NDRT_KERNEL_JOIN_BYTES, (2**40, 1, 2**40, 0, 1, 1), [ONE] * 3, "bytes: -1 elements"),
    (lib.NDRT_KERNEL_SUM_BYTES, (1, 1, 1, lib.NDRT_F32), [ONE] * 5, "a kind that there is no"),
    (lib.NDRT_KERNEL_SUM_BYTES, (1, 1, 1, lib.NDRT_S32), [ONE] * 6, "a kind that there is no"),
    (lib.NDRT_KERNEL_MULTIPLY_BYTES, (1, lib.NDRT_U8), [ONE] * 4, "a kind that there is no"),
    (lib.NDRT_KERNEL_MULTIPLY_BYTES, (1, lib.NDRT_F32), [ONE] * 3, "array 3 has no bytes"),
    (lib.NDRT_KERNEL_NORM_BYTES, (2**40, 2**40, 1, 1), [ONE] * 4, "bytes: -1 elements"),
    (lib.NDRT_KERNEL_NORM_FACTORS, (-1,), [ONE] * 8, "norm factors: -1 channels"),
    (lib.NDRT_KERNEL_EXTENT, (1, lib.NDRT_S8), [ONE] * 3, "a kind that there is no form"),
    (lib.NDRT_KERNEL_EXTENT, (0, lib.NDRT_F32), [ONE, None], "array 1 has no bytes"),
    (lib.NDRT_KERNEL_POOL_BYTES, (1, 1, *[1] * 12, -1, 0, 0, 1, 1, 1), [ONE] * 2, "out of range"),
    (lib.NDRT_KERNEL_POOL_BYTES, (1, 1, *[1] * 6, 4096, 4096, 1, *[1] * 3, 0, 0, 0, 1, 1, 1),
     [ONE] * 2, "out of range"),
    (lib.NDRT_KERNEL_REQUANTIZE_RANGE, (1,), [ONE] * 6, "one end of the sums without"),
    (lib.NDRT_KERNEL_QUANTIZE_RANGE, (1,), [ONE] * 4, "array 4 has no bytes")])
def test_refuses(which: int, counts: Any, arrays: Any, error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        kernel(which, counts, arrays, (1.0, 1.0))
