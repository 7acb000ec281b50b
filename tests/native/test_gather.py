"""The kernels that find their elements by places, against NumPy, at any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib
from tests.native.helpers import kernel

KINDS = {"f4": lib.NDRT_F32, "f8": lib.NDRT_F64, "i4": lib.NDRT_S32, "i1": lib.NDRT_S8,
         "u1": lib.NDRT_U8, "i8": lib.NDRT_INDEX_S64}
THREADS = [1, 2, 5]
RNG = np.random.default_rng(3)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


@pytest.mark.parametrize("nthreads", THREADS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize(("outer", "count", "rows", "width"), [(1, 7, 5, 3), (2, 300, 40, 65)])
def test_gather_and_its_gradient(outer: int, count: int, rows: int, width: int, wrap: bool,
                                 kind: str, nthreads: int) -> None:
    low, high = (0, 100) if kind == "u1" else (-2 * min(rows, 50), 2 * min(rows, 50))
    places = RNG.integers(low, high, count).astype(kind)
    at = np.mod(places.astype("i8"), rows) if wrap else np.clip(places.astype("i8"), 0, rows - 1)
    table, out = floats(outer, rows, width), np.empty((outer, count, width), "f4")
    how = [KINDS[kind], wrap]
    kernel(lib.NDRT_KERNEL_GATHER, [outer, count, rows, width * 4, *how], [out, table, places], (),
           nthreads)
    np.testing.assert_array_equal(out, table[:, at])
    grad, want = np.full(table.shape, np.nan, "f4"), np.zeros(table.shape, "f4")
    for i, row in enumerate(at):
        want[:, row] += out[:, i]
    kernel(lib.NDRT_KERNEL_GATHER_GRAD, [outer, count, rows, width, *how], [grad, out, places], (),
           nthreads)
    np.testing.assert_array_equal(grad, want)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e30, -0.5, -1.0, 1.99])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_floats_that_are_no_places(kind: str, value: float) -> None:
    """What fits into no int64 counts as the least one; fractions are cut off towards zero."""
    whole = int(value) if abs(value) < 2.0**63 else -(2**63)
    table, out = np.arange(3, dtype="f4"), np.empty(1, "f4")
    for wrap in (False, True):
        kernel(lib.NDRT_KERNEL_GATHER, [1, 1, 3, 4, KINDS[kind], wrap],
               [out, table, np.array([value], kind)])
        assert out[0] == (whole % 3 if wrap else min(max(whole, 0), 2))


@pytest.mark.parametrize("nthreads", THREADS)
@pytest.mark.parametrize(("outer", "axis", "inner"), [(3, 4, 1), (50, 7, 100)])
def test_pick_and_its_gradient(outer: int, axis: int, inner: int, nthreads: int) -> None:
    data = floats(outer, axis, inner)
    places = RNG.integers(0, axis, (outer, 1, inner)).astype("i4")
    out, grad = np.empty((outer, 1, inner), "f4"), np.full(data.shape, np.nan, "f4")
    kernel(lib.NDRT_KERNEL_PICK, [outer, axis, inner, 4, lib.NDRT_S32, 0],
           [out, data, places], (), nthreads)
    np.testing.assert_array_equal(out, np.take_along_axis(data, places, 1))
    want = np.zeros(data.shape, "f4")
    np.put_along_axis(want, places, out, 1)
    kernel(lib.NDRT_KERNEL_PICK_GRAD, [outer, axis, inner, lib.NDRT_S32, 0],
           [grad, out, places], (), nthreads)
    np.testing.assert_array_equal(grad, want)


@pytest.mark.parametrize("nthreads", THREADS)
def test_one_hot_where_mask_and_arange(nthreads: int) -> None:
    count, depth = 700, 40
    places = RNG.integers(-3, depth + 3, count)
    hot = np.empty((count, depth), "i4")
    kernel(lib.NDRT_KERNEL_ONE_HOT, [count, depth, lib.NDRT_INDEX_S64, lib.NDRT_S32],
           [hot, places], [9, -1], nthreads)
    np.testing.assert_array_equal(hot, np.where(places[:, None] == np.arange(depth), 9, -1))
    condition = RNG.integers(0, 2, count).astype("u1")
    x, y, out = floats(count, depth), floats(count, depth), np.empty((count, depth), "f4")
    kernel(lib.NDRT_KERNEL_WHERE, [count, depth, lib.NDRT_U8], [out, condition, x, y], (), nthreads)
    np.testing.assert_array_equal(out, np.where(condition[:, None], x, y))
    lengths, steps = RNG.integers(-1, count + 2, depth).astype("f4"), np.arange(count)[:, None]
    kernel(lib.NDRT_KERNEL_SEQUENCE_MASK, [count, depth, 1, 0, lib.NDRT_F32], [out, x, lengths],
           [2.5], nthreads)
    np.testing.assert_array_equal(out, np.where(steps < lengths, x, f4(2.5)))
    kernel(lib.NDRT_KERNEL_SEQUENCE_MASK, [depth, count, 1, 1, lib.NDRT_F32], [x, x, lengths],
           [2.5], nthreads)
    assert (x.reshape(depth, count)[lengths[:, None] <= steps.T] == 2.5).all()
    row = np.empty(count * depth, "f4")
    kernel(lib.NDRT_KERNEL_ARANGE, [row.size, 3], [row], [1.5, -0.25], nthreads)
    np.testing.assert_array_equal(row, 1.5 - f4(0.25) * (np.arange(row.size) // 3).astype("f4"))


f4 = np.float32


def test_nothing_to_do() -> None:
    """No places leave a gradient of zeros, and read no bytes."""
    grad = np.full((4, 2), np.nan, "f4")
    packed = ffi.new("ndrt_kernel_call *")
    packed.kernel, packed.counts = lib.NDRT_KERNEL_GATHER_GRAD, [1, 0, 4, 2, lib.NDRT_F32]
    packed.data[0] = ffi.from_buffer(grad)
    call(lib.ndrt_kernel_run, packed, what="kernel")
    assert not grad.any()
    packed.kernel, packed.data[0] = lib.NDRT_KERNEL_GATHER, ffi.NULL
    call(lib.ndrt_kernel_run, packed, what="kernel")


@pytest.mark.parametrize(("number", "counts", "text"), [
    (lib.NDRT_KERNEL_GATHER, [1, -1, 1, 4, lib.NDRT_F32], "a count below 0"),
    (lib.NDRT_KERNEL_GATHER, [1, 2, 0, 4, lib.NDRT_F32], "an axis of length 0"),
    (lib.NDRT_KERNEL_PICK, [1, 0, 1, 4, lib.NDRT_F32], "an axis of length 0"),
    (lib.NDRT_KERNEL_GATHER, [2**40, 2**40, 1, 4, lib.NDRT_F32], "more elements than can be"),
    (lib.NDRT_KERNEL_GATHER_GRAD, [1, 2**40, 2, 2**40, lib.NDRT_F32], "more elements"),
    (lib.NDRT_KERNEL_GATHER, [1, 1, 1, 4, lib.NDRT_F16], "places of kind 1"),
    (lib.NDRT_KERNEL_WHERE, [1, 1, -1], "places of kind -1"),
    (lib.NDRT_KERNEL_ONE_HOT, [1, 1, lib.NDRT_F32, lib.NDRT_F16], "values of kind 1"),
    (lib.NDRT_KERNEL_ARANGE, [1, 0], "each value 0 times"),
    (lib.NDRT_KERNEL_ARANGE, [1, 1], "array 0 has no bytes"),
])
def test_refusals(number: int, counts: list[int], text: str) -> None:
    packed = ffi.new("ndrt_kernel_call *", {"kernel": number, "counts": counts})
    with pytest.raises(ParameterError, match=text):
        call(lib.ndrt_kernel_run, packed, what="kernel")
