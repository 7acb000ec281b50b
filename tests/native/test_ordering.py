"""The kernels that order rows: any length, any number of threads, ties by place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib
from tests.native.helpers import kernel

RNG = np.random.default_rng(7)
F4, I4 = lib.NDRT_F32, lib.NDRT_S32


def expected(x: Any, k: int, descending: bool) -> Any:
    """The first k places, by a stable sort; NaN is the greatest."""
    if not descending:
        return np.argsort(x, axis=1, kind="stable")[:, :k]
    n = x.shape[1]
    return (n - 1 - np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1])[:, :k]


def rows_of(kind: str, rows: int, n: int) -> Any:
    if kind == "ties":
        return RNG.integers(0, 5, (rows, n)).astype("f4")
    if kind == "ints":
        return RNG.integers(-2**31, 2**31, (rows, n)).astype("i4")
    x = RNG.standard_normal((rows, n)).astype("f4")
    if kind == "rising":
        return np.sort(x, axis=1)
    if kind == "odd":
        for value in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38):
            x[RNG.random((rows, n)) < 0.05] = value
    return x


@pytest.mark.parametrize("kind", ["normal", "ties", "ints", "rising", "odd"])
@pytest.mark.parametrize(("rows", "n", "k"), [
    (1, 1, 1), (3, 17, 5), (2, 64, 64), (5, 333, 10), (2, 333, 64), (2, 1000, 65), (3, 1000, 400),
    (2, 1000, 700), (40, 600, 12), (1, 5000, 1)])
@pytest.mark.parametrize("descending", [False, True])
def test_first_of_rows(rows: int, n: int, k: int, descending: bool, kind: str) -> None:
    x = rows_of(kind, rows, n)
    at = expected(x, k, descending)
    code = I4 if kind == "ints" else F4
    for nthreads in (1, 2, 3):
        values, places = np.zeros((rows, k), x.dtype), np.zeros((rows, k), "i4")
        scratch = np.empty((2, lib.ndrt_topk_pairs(n, k)), "u8")
        kernel(lib.NDRT_KERNEL_TOPK, [rows, n, k, 2, code, descending, 3, I4],
               [values, places, x, scratch], (), nthreads)
        np.testing.assert_array_equal(places, at)
        assert values.tobytes() == np.take_along_axis(x, at, 1).tobytes()


def test_what_is_not_wanted_is_not_written() -> None:
    x, scratch = rows_of("normal", 2, 50), np.empty((1, lib.ndrt_topk_pairs(50, 3)), "u8")
    for what in (1, 2):
        values, places = np.full((2, 3), 7, "f4"), np.full((2, 3), 7, "f4")
        kernel(lib.NDRT_KERNEL_TOPK, [2, 50, 3, 1, F4, 1, what, F4],
               [values, places, x, scratch])
        assert (values == 7).all() == (what == 2)
        assert (places == 7).all() == (what == 1)


@pytest.mark.parametrize(("code", "kind"), [(F4, "f4"), (I4, "i4")])
def test_gradient(code: int, kind: str) -> None:
    n, k = 40, 6
    places = np.stack([RNG.permutation(n)[:k] for _ in range(5)])
    dy, dx = RNG.random((5, k), "f4"), np.full((5, n), np.nan, "f4")
    kernel(lib.NDRT_KERNEL_TOPK_GRAD, [5, n, k, code], [dx, dy, places.astype(kind)])
    want = np.zeros((5, n), "f4")
    np.put_along_axis(want, places, dy, 1)
    np.testing.assert_array_equal(dx, want)


@pytest.mark.parametrize(("number", "counts", "text"), [
    (lib.NDRT_KERNEL_TOPK, [1, 3, 4, 1, F4, 0, 3, F4], "4 of 3"),
    (lib.NDRT_KERNEL_TOPK, [-1, 3, 2, 1, F4, 0, 3, F4], "2 of 3"),
    (lib.NDRT_KERNEL_TOPK, [1, 2**40, 2, 1, F4, 0, 3, F4], "2 of"),
    (lib.NDRT_KERNEL_TOPK, [2**62, 2**31 - 1, 2, 1, F4, 0, 3, F4], "more elements than can be"),
    (lib.NDRT_KERNEL_TOPK, [1, 3, 2, 0, F4, 0, 3, F4], "0 slots"),
    (lib.NDRT_KERNEL_TOPK, [1, 3, 2, 1, F4, 0, 4, F4], "4 is wanted"),
    (lib.NDRT_KERNEL_TOPK, [1, 3, 2, 1, F4, 0, 3, lib.NDRT_F16], "places of kind 1"),
    (lib.NDRT_KERNEL_TOPK, [1, 3, 2, 1, F4, 0, 3, F4], "array 0 has no bytes"),
    (lib.NDRT_KERNEL_TOPK_GRAD, [1, 3, 2, lib.NDRT_U8], "places of kind 6"),
])
def test_refusals(number: int, counts: list[int], text: str) -> None:
    packed = ffi.new("ndrt_kernel_call *", {"kernel": number, "counts": counts})
    with pytest.raises(ParameterError, match=text):
        call(lib.ndrt_kernel_run, packed, what="kernel")
