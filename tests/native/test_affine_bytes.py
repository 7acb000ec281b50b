"""Kernels of numbers of 8 bits with scales and zero points, against NumPy; what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import kernel
from tests.native.test_bytes import BYTES, SIZES, drawn, extended

F = np.float32
ZEROS = {"i1": st.integers(-128, 127), "u1": st.integers(0, 255)}
KINDS = st.sampled_from(BYTES).flatmap(lambda kind: st.tuples(st.just(kind), ZEROS[kind]))
SCALES = st.sampled_from((1.0, 0.37, 1e-3, 1e30))


def rounded(steps: Any, zero: int, low: int, high: int, dtype: str) -> Any:
    whole = np.clip(np.rint(steps) + zero, low, high)
    return np.where(np.isnan(steps), 0, whole).astype(dtype)


@settings(max_examples=80, deadline=None)
@given(SIZES, KINDS, SCALES, st.integers(0, 5))
def test_quantize(n: int, kind: tuple[str, int], scale: float, nthreads: int) -> None:
    (dtype, zero), x = kind, drawn(n, "f4", n)
    out, info = extended(n, dtype), np.iinfo(dtype)
    kernel(lib.NDRT_KERNEL_QUANTIZE_LINEAR, (n, dtype == "i1"), [out, x], [scale, zero], nthreads)
    with np.errstate(all="ignore"):
        want = rounded((x / F(scale)).astype("f8"), zero, info.min, info.max, dtype)
    np.testing.assert_array_equal(out[:-1], want)
    assert out[-1] == 77


@settings(max_examples=60, deadline=None)
@given(SIZES, KINDS, SCALES, st.integers(0, 5))
def test_dequantize(n: int, kind: tuple[str, int], scale: float, nthreads: int) -> None:
    (dtype, zero), out = kind, extended(n, "f4")
    x = drawn(n, dtype, n)
    kernel(lib.NDRT_KERNEL_DEQUANTIZE_LINEAR, (n, dtype == "i1"), [out, x], [scale, zero], nthreads)
    np.testing.assert_array_equal(out[:-1], (x.astype("f4") - F(zero)) * F(scale))
    assert out[-1] == 77


@settings(max_examples=80, deadline=None)
@given(SIZES, KINDS, KINDS, KINDS, st.tuples(SCALES, SCALES), st.tuples(ZEROS["u1"], ZEROS["u1"]),
       st.integers(0, 5))
def test_add(n: int, left: tuple[str, int], right: tuple[str, int], made: tuple[str, int],
             scales: tuple[float, float], bounds: tuple[int, int], nthreads: int) -> None:
    low, high = sorted(int(np.iinfo(made[0]).min) + bound for bound in bounds)
    x, y, out = drawn(n, left[0], n), drawn(n, right[0], n + 1), extended(n, made[0])
    kernel(lib.NDRT_KERNEL_ADD_LINEAR, (n, left[0] == "i1", right[0] == "i1", made[0] == "i1"),
           [out, x, y], [scales[0], left[1], scales[1], right[1], made[1], low, high], nthreads)
    total = (x.astype("f4") - F(left[1])) * F(scales[0]) + (
        y.astype("f4") - F(right[1])) * F(scales[1])
    np.testing.assert_array_equal(out[:-1],
                                  rounded(total.astype("f8"), made[1], low, high, made[0]))
    assert out[-1] == 77


@settings(max_examples=40, deadline=None)
@given(SIZES, st.integers(0, 5))
def test_map(n: int, nthreads: int) -> None:
    x, table, out = drawn(n, "u1", n), drawn(256, "u1", 7), extended(n, "u1")
    kernel(lib.NDRT_KERNEL_MAP_BYTES, (n,), [out, x, table], (), nthreads)
    np.testing.assert_array_equal(out[:-1], table[x])
    assert out[-1] == 77


@pytest.mark.parametrize(("which", "dims", "numbers"), [
    (lib.NDRT_KERNEL_QUANTIZE_LINEAR, (-1, 0), (1, 0)),
    (lib.NDRT_KERNEL_QUANTIZE_LINEAR, (9, 0), (1, -1)),
    (lib.NDRT_KERNEL_QUANTIZE_LINEAR, (9, 1), (1, 128)),
    (lib.NDRT_KERNEL_QUANTIZE_LINEAR, (9, 1), (1, 0.5)),
    (lib.NDRT_KERNEL_QUANTIZE_LINEAR, (9, 1), (1, np.nan)),
    (lib.NDRT_KERNEL_ADD_LINEAR, (9, 0, 0, 0), (1, 0, 1, 0, 0, 9, 8)),
    (lib.NDRT_KERNEL_ADD_LINEAR, (9, 0, 0, 1), (1, 0, 1, 0, 0, -129, 8)),
    (lib.NDRT_KERNEL_MAP_BYTES, (-1,), ())])
def test_refuses(which: int, dims: tuple[int, ...], numbers: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="affine bytes: "):
        kernel(which, dims, [np.zeros(99, "f4")] * 3, numbers)


def test_refuses_too_few_arrays() -> None:
    with pytest.raises(ParameterError, match="affine bytes: array 2 has no bytes"):
        kernel(lib.NDRT_KERNEL_MAP_BYTES, (9,), [np.zeros(9, "u1")] * 2, ())
