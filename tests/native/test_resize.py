"""Images to another size along an axis, against matrices; at any number of threads."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib
from tests.native.helpers import kernel

RNG = np.random.default_rng(7)
KINDS = {"corners": lib.NDRT_RESIZE_CORNERS, "edges": lib.NDRT_RESIZE_EDGES,
         "mean": lib.NDRT_RESIZE_MEAN}


def matrix(kind: str, size: int, made: int) -> Any:
    """What each made place takes of the others."""
    found = np.zeros((made, size))
    for k in range(made):
        if kind == "mean":
            begin, end = floor(k * size / made), ceil((k + 1) * size / made)
            found[k, begin:end] = 1 / (end - begin)
            continue
        at = 0.0
        if made > 1:
            at = (k * (size - 1) / (made - 1) if kind == "corners"
                  else max(0.0, (k + 0.5) * size / made - 0.5))
        first = min(int(at), size - 1)
        found[k, first] += 1 - (at - first)
        found[k, min(first + 1, size - 1)] += at - first
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "made"), [(5, 9), (9, 5), (4, 8), (12, 3), (7, 1), (1, 6), (6, 6),
                                            (300, 200), (3, 2), (100, 7)])
@pytest.mark.parametrize(("outer", "inner"), [(3, 1), (40, 1), (2, 3), (2, 600)])
def test_there_and_back(kind: str, size: int, made: int, outer: int, inner: int) -> None:
    x = RNG.standard_normal((outer, size, inner)).astype("f4")
    dy = RNG.standard_normal((outer, made, inner)).astype("f4")
    want = matrix(kind, size, made)
    first: list[Any] = []
    for nthreads in (1, 2, 5):
        out, dx = np.full(dy.shape, np.nan, "f4"), np.full(x.shape, np.nan, "f4")
        dims = [outer, size, made, inner]
        kernel(lib.NDRT_KERNEL_RESIZE_AXIS, [*dims, KINDS[kind], 0], [out, x], (), nthreads)
        kernel(lib.NDRT_KERNEL_RESIZE_AXIS, [*dims, KINDS[kind], 1], [dx, dy], (), nthreads)
        np.testing.assert_allclose(out, want @ x, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(dx, want.T @ dy, rtol=1e-4, atol=1e-4)
        for got, same in zip((out, dx), first or (out, dx), strict=True):
            np.testing.assert_array_equal(got, same)
        first = [out, dx]


@pytest.mark.parametrize("inner", [1, 3, 600])
def test_copies_are_bits(inner: int) -> None:
    """Of a larger mean each place is another one, with the sign of a zero."""
    x = np.array([-0.0, 0.0, np.inf, -np.inf, 1e-45], "f4").repeat(inner)
    out = np.full(10 * inner, np.nan, "f4")
    kernel(lib.NDRT_KERNEL_RESIZE_AXIS, [1, 5, 10, inner, lib.NDRT_RESIZE_MEAN, 0], [out, x])
    want = x.reshape(5, inner).repeat(2, 0)
    np.testing.assert_array_equal(out.view("u4"), want.reshape(-1).view("u4"))


@pytest.mark.parametrize(("dims", "kind", "message"), [
    ([1, 0, 2, 1], 0, "an axis of length 0"),
    ([1, 2, -2, 1], 0, "a count below 0"),
    ([1, 2, 2, 1], 3, "kind 3"),
    ([2**40, 2, 2, 2**40], 0, "more elements than can be"),
    ([1, 2, 2, 1], 0, "array 0 has no bytes"),
])
def test_wrong_calls(dims: list[int], kind: int, message: str) -> None:
    made = ffi.new("ndrt_kernel_call *", {"kernel": lib.NDRT_KERNEL_RESIZE_AXIS,
                                          "counts": [*dims, kind, 0]})
    with pytest.raises(ParameterError, match=message):
        call(lib.ndrt_kernel_run, made, what="kernel")
