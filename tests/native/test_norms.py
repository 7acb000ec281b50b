"""Normalizations against NumPy; their bits do not depend on the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib
from tests.native.helpers import kernel

THREADS = [1, 2, 5]
RNG = np.random.default_rng(5)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def empty(*shape: int) -> Any:
    return np.full(shape, np.nan, "f4")


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


def normal_grad(x: Any, dy: Any, scale: Any, axis: int, eps: float) -> tuple[Any, Any]:
    """(gradient of x, dy times the normalized x)."""
    d = x - x.mean(axis, keepdims=True)
    std = np.sqrt((d * d).mean(axis, keepdims=True) + eps)
    n, s = d / std, dy * scale
    return ((s - s.mean(axis, keepdims=True) - n * (s * n).mean(axis, keepdims=True)) / std,
            dy * n)


@pytest.mark.parametrize(("rows", "width", "vectors"),
                         [(6, 5, 3), (2, 20000, 2), (1, 1_300_000, 1), (40, 1000, 4)])
def test_rows(rows: int, width: int, vectors: int) -> None:
    x, dy = floats(rows, width) + 3, floats(rows, width)
    gamma, beta = floats(vectors), floats(vectors)
    wide = x.astype("f8")
    first: list[Any] = []
    for nthreads in THREADS:
        out, mean, std = empty(rows, width), empty(rows), empty(rows)
        slopes, dx, sums = empty(rows, 6), empty(rows, width), (empty(vectors), empty(vectors))
        dims = [rows, width, vectors]
        kernel(lib.NDRT_KERNEL_NORM_ROWS, dims, [out, x, gamma, beta, mean, std], [1e-3], nthreads)
        kernel(lib.NDRT_KERNEL_ROW_SLOPES, dims, [slopes, dy, x, gamma, mean, std], [], nthreads)
        kernel(lib.NDRT_KERNEL_NORM_ROWS_GRAD, dims, [dx, dy, x, slopes], [], nthreads)
        kernel(lib.NDRT_KERNEL_SUM_SLOPES, dims, [*sums, slopes], [], nthreads)
        made = [out, mean, std, dx, *sums]
        for got, same in zip(made, first or made, strict=True):
            np.testing.assert_array_equal(got, same)
        first = made
    scale, shift = (np.tile(v, rows // vectors)[:, None] for v in (gamma, beta))
    close(first[1], wide.mean(1))
    close(first[2], np.sqrt(wide.var(1) + 1e-3))
    close(first[0], (wide - wide.mean(1)[:, None]) / first[2][:, None] * scale + shift)
    grad, product = normal_grad(wide, dy.astype("f8"), scale, 1, 1e-3)
    close(first[3], grad)
    np.testing.assert_allclose(first[4], product.sum(1).reshape(-1, vectors).sum(0), rtol=1e-3,
                               atol=1e-2)
    np.testing.assert_allclose(first[5], dy.astype("f8").sum(1).reshape(-1, vectors).sum(0),
                               rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("nthreads", THREADS)
@pytest.mark.parametrize(("outer", "length", "inner"), [(2, 5, 3), (3, 40, 200), (1, 7, 5000)])
def test_axis(outer: int, length: int, inner: int, nthreads: int) -> None:
    x, dy = floats(outer, length, inner), floats(outer, length, inner)
    gamma, beta = floats(length), floats(length)
    out, dx = empty(*x.shape), empty(*x.shape)
    mean, std, sums = empty(outer, inner), empty(outer, inner), (empty(length), empty(length))
    dims = [outer, length, inner]
    kernel(lib.NDRT_KERNEL_NORM_AXIS, dims, [out, x, gamma, beta, mean, std], [1e-3], nthreads)
    kernel(lib.NDRT_KERNEL_NORM_AXIS_GRAD, dims, [dx, dy, x, gamma, mean, std], [], nthreads)
    kernel(lib.NDRT_KERNEL_NORM_AXIS_VECTORS, dims, [*sums, dy, x, mean, std], [], nthreads)
    close(out, (x - mean[:, None]) / std[:, None] * gamma[:, None] + beta[:, None])
    close(std, np.sqrt(x.var(1) + 1e-3))
    grad, product = normal_grad(x, dy, gamma[:, None], 1, 1e-3)
    close(dx, grad)
    np.testing.assert_allclose(sums[0], product.sum((0, 2)), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(sums[1], dy.sum((0, 2)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("nthreads", THREADS)
@pytest.mark.parametrize("shape", [(3, 7, 1), (2, 20000, 1), (2, 40, 200), (1, 3, 2)])
def test_vectors_of_length_1(shape: tuple[int, int, int], nthreads: int) -> None:
    x, dy = floats(*shape), floats(*shape)
    out, dx, norm = empty(*shape), empty(*shape), empty(shape[0], shape[2])
    kernel(lib.NDRT_KERNEL_L2, list(shape), [out, x, norm], [0.5], nthreads)
    kernel(lib.NDRT_KERNEL_L2_GRAD, list(shape), [dx, dy, out, norm], [], nthreads)
    want = np.sqrt((x * x).sum(1) + 0.5)
    close(norm, want)
    close(out, x / want[:, None])
    close(dx, (dy - out * (out * dy).sum(1, keepdims=True)) / want[:, None])


@pytest.mark.parametrize(("which", "dims", "message"), [
    (lib.NDRT_KERNEL_NORM_ROWS, [2, 3, 0], "vectors of length 0"),
    (lib.NDRT_KERNEL_NORM_AXIS, [2, -3, 1], "a count below 0"),
    (lib.NDRT_KERNEL_L2, [2**40, 2**40, 1], "more elements than can be"),
    (lib.NDRT_KERNEL_L2_GRAD, [2, 2, 2], "array 0 has no bytes"),
])
def test_wrong_calls(which: int, dims: list[int], message: str) -> None:
    made = ffi.new("ndrt_kernel_call *", {"kernel": which, "counts": dims})
    with pytest.raises(ParameterError, match=message):
        call(lib.ndrt_kernel_run, made, what="kernel")
