"""Rows of floats times 8-bit weights, against NumPy; what the kernel refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.quantization.dynamic import DynamicDenseParams, rounded_rows
from tests.native.helpers import kernel

BLOCK = lib.NDRT_WHOLE_BLOCK


def packed(weight: Any) -> Any:
    """(columns, features) as the kernel reads it."""
    columns, features = weight.shape
    padded = np.pad(weight, [(0, -columns % BLOCK), (0, features % 2)])
    blocks = padded.reshape(len(padded) // BLOCK, BLOCK, -1, 2)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3))


def run(x: Any, weight: Any, scales: Any, bias: Any, dtype: str, per_tensor: bool,
        nthreads: int = 1) -> Any:
    """The kernel's result, and 7 behind it."""
    (rows, features), columns = x.shape, len(weight)
    scratch = np.zeros(rows * (6 + features + features % 2), np.int16)
    made = np.full(rows * columns + 1, 7, np.float32)
    kernel(lib.NDRT_KERNEL_DYNAMIC_DENSE, (rows, features, columns, dtype == "int8", per_tensor),
           [made, x, packed(weight), scales, scratch, bias], (), nthreads)
    return made


def wanted(x: Any, weight: Any, scales: Any, bias: Any, dtype: str, per_tensor: bool) -> Any:
    whole, step = rounded_rows(DynamicDenseParams(
        num_hidden=len(weight), data_dtype=dtype, per_tensor=per_tensor), x)
    sums = (whole @ weight.astype(np.float64).T).astype(np.float32) * (step * scales)
    return sums if bias is None else sums + bias


@pytest.mark.parametrize("nthreads", [1, 2])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("per_tensor", [False, True])
def test_it_equals_numpy(dtype: str, per_tensor: bool, nthreads: int) -> None:
    drawn = np.random.default_rng(0)
    for rows in (*range(1, 9), 47, 48, 49, 54):
        for features, columns in ((1, 1), (2, 16), (15, 17), (33, 32), (64, 49), (40, 100)):
            x = (drawn.standard_normal((rows, features)) * 3 + 1).astype(np.float32)
            x[rows // 2] = 0
            weight = drawn.integers(-128, 128, (columns, features)).astype(np.int8)
            scales = drawn.uniform(0.01, 0.1, columns).astype(np.float32)
            bias = drawn.standard_normal(columns).astype(np.float32) if rows % 2 else None
            made = run(x, weight, scales, bias, dtype, per_tensor, nthreads)
            np.testing.assert_array_equal(
                made[:-1].reshape(rows, columns),
                wanted(x, weight, scales, bias, dtype, per_tensor), f"{rows} {features} {columns}")
            assert made[-1] == 7


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("per_tensor", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_give_nan(dtype: str, per_tensor: bool, value: float) -> None:
    x = np.ones((5, 20), np.float32)
    x[3, 19] = value
    weight, scales = np.ones((18, 20), np.int8), np.ones(18, np.float32)
    made = run(x, weight, scales, None, dtype, per_tensor)[:-1].reshape(5, 18)
    np.testing.assert_array_equal(np.isnan(made).all(axis=1), [per_tensor] * 3 + [True, per_tensor])
    if not per_tensor:
        np.testing.assert_allclose(made[[0, 1, 2, 4]], 20)


def test_sums_are_exact_up_to_the_most_features() -> None:
    features = 1 << 16
    x = np.full((2, features), 255, np.float32)
    x[1] = -255
    weight = np.full((3, features), -128, np.int8)
    made = run(x, weight, np.ones(3, np.float32), None, "uint8", False)[:-1].reshape(2, 3)
    np.testing.assert_array_equal(made[0], np.float32(-255 * 128 * features))
    np.testing.assert_array_equal(made[1], np.float32(255 * 128 * features))


def test_subnormal_and_tiny_rows() -> None:
    x = np.full((2, 4), 1e-45, np.float32)
    x[1] = 1e-37
    weight, scales = np.full((2, 4), 127, np.int8), np.ones(2, np.float32)
    for dtype in ("int8", "uint8"):
        np.testing.assert_array_equal(
            run(x, weight, scales, None, dtype, False)[:-1].reshape(2, 2),
            wanted(x, weight, scales, None, dtype, False))


@pytest.mark.parametrize("dims", [(-1, 4, 4, 1, 0), (1, 0, 4, 1, 0), (1, 4, 0, 1, 0),
                                  (1, (1 << 16) + 1, 4, 1, 0), (1 << 61, 4, 4, 1, 0)])
def test_numbers_out_of_range_are_refused(dims: tuple[int, ...]) -> None:
    arrays = [np.zeros(64, np.float32) for _ in range(5)]
    with pytest.raises(ParameterError, match="dynamic dense"):
        kernel(lib.NDRT_KERNEL_DYNAMIC_DENSE, dims, [*arrays, None], (), 1)


def test_arrays_must_be_there() -> None:
    arrays = [np.zeros(64, np.float32) for _ in range(5)]
    for missing in range(5):
        given = [None if i == missing else a for i, a in enumerate(arrays)]
        with pytest.raises(ParameterError, match=f"array {missing} has no bytes"):
            kernel(lib.NDRT_KERNEL_DYNAMIC_DENSE, (1, 4, 4, 1, 0), [*given, None], (), 1)
