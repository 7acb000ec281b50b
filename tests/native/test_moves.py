"""The kernels that move parts of arrays: any width, any number of threads, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import OutOfBounds, ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import kernel

RNG = np.random.default_rng(11)
F4, I4, I8 = lib.NDRT_F32, lib.NDRT_S32, lib.NDRT_INDEX_S64
WINDOW, EDGE, REFLECT = lib.NDRT_AXIS_WINDOW, lib.NDRT_AXIS_EDGE, lib.NDRT_AXIS_REFLECT


@pytest.mark.parametrize("nthreads", [1, 2, 3])
def test_flat_places(nthreads: int) -> None:
    at = np.stack([RNG.integers(-7, 7, 500), RNG.integers(-5, 5, 500)]).astype("i4")
    out = np.empty(500, "i8")
    kernel(lib.NDRT_KERNEL_FLAT_PLACES, [2, 500, I4, 7, 5], [out, at], (), nthreads)
    np.testing.assert_array_equal(out, at[0] % 7 * 5 + at[1] % 5)


@pytest.mark.parametrize("wrong", [7, -8, 2**31 - 1])
def test_a_coordinate_beyond_its_axis(wrong: int) -> None:
    at, out = np.zeros((2, 9), "i4"), np.empty(9, "i8")
    at[0, 8], at[1, 2] = wrong, 99
    with pytest.raises(OutOfBounds, match=f"index {wrong} is out of bounds for axis 0 with size 7"):
        kernel(lib.NDRT_KERNEL_FLAT_PLACES, [2, 9, I4, 7, 5], [out, at])


@pytest.mark.parametrize("nthreads", [1, 2, 3])
@pytest.mark.parametrize("kind", ["u1", "f2", "f4", "f8", "V12"])
def test_the_last_row_stays(kind: str, nthreads: int) -> None:
    rows = np.frombuffer(RNG.bytes(300 * np.dtype(kind).itemsize), kind)
    at, out = RNG.integers(0, 50, 300), np.zeros(50, kind)
    want = out.copy()
    for place, row in zip(at, rows, strict=True):
        want[place] = row
    kernel(lib.NDRT_KERNEL_PUT_ROWS, [300, 50, rows.itemsize], [out, rows, at], (), nthreads)
    assert out.tobytes() == want.tobytes()


def sources(length: int, count: int, kind: int, begin: int, step: int) -> Any:
    at = begin + step * np.arange(count)
    if kind == REFLECT:
        at = np.abs(at)
        return np.where(at < length, at, 2 * (length - 1) - at)
    return np.clip(at, 0, length - 1)


MAPS = [(9, 9, WINDOW, 8, -1), (9, 3, WINDOW, 1, 3), (9, 0, WINDOW, 5, 1), (5, 12, EDGE, -3, 1),
        (1, 4, EDGE, -2, 1), (5, 13, REFLECT, -4, 1), (5, 3, REFLECT, 2, 1)]


@pytest.mark.parametrize("nthreads", [1, 2, 3])
@pytest.mark.parametrize("inner", [1, 3, 5000])
@pytest.mark.parametrize("given", MAPS)
def test_along_an_axis(given: tuple[int, ...], inner: int, nthreads: int) -> None:
    length, count, *scalars = given
    x = RNG.integers(-99, 99, (4, length, inner)).astype("f4")
    at, out = sources(length, count, *scalars), np.empty((4, count, inner), "f4")
    kernel(lib.NDRT_KERNEL_AXIS_MOVE, [4, length, inner * 4, count, *scalars], [out, x],
           nthreads=nthreads)
    np.testing.assert_array_equal(out, x[:, at])
    dy, dx = RNG.integers(-99, 99, out.shape).astype("f4"), np.full(x.shape, np.nan, "f4")
    kernel(lib.NDRT_KERNEL_AXIS_MOVE_GRAD, [4, length, inner, count, *scalars], [dx, dy],
           nthreads=nthreads)
    want = np.zeros_like(dx)
    np.add.at(want.transpose(1, 0, 2), at, dy.transpose(1, 0, 2))
    np.testing.assert_array_equal(dx, want)


@pytest.mark.parametrize("scalars", [
    (WINDOW, 8, -2), (WINDOW, 6, 1), (WINDOW, -1, 1), (WINDOW, 0, 0), (EDGE, 0, 2), (7, 0, 1),
    (REFLECT, -9, 1), (REFLECT, 14, 1), (EDGE, 0, 1 << 62), (WINDOW, 1 << 62, 1 << 62)])
def test_places_beyond_the_axis(scalars: tuple[int, ...]) -> None:
    x, out = np.zeros((1, 9, 1), "f4"), np.zeros((1, 6, 1), "f4")
    for which in (lib.NDRT_KERNEL_AXIS_MOVE, lib.NDRT_KERNEL_AXIS_MOVE_GRAD):
        with pytest.raises(ParameterError, match="beyond an axis of 9"):
            kernel(which, [1, 9, 4, 6, *scalars], [out, x])


@pytest.mark.parametrize("nthreads", [1, 2, 3])
@pytest.mark.parametrize("axis", [0, 1])
def test_last_steps(axis: int, nthreads: int) -> None:
    x = RNG.random((6, 6, 3), "f4")
    ends = np.array([1, 6, 0, -3, 99, 4], "f4")
    at = np.clip(ends.astype(int), 1, 6) - 1
    out, dx = np.empty((6, 3), "f4"), np.full((6, 6, 3), np.nan, "f4")
    kernel(lib.NDRT_KERNEL_SEQUENCE_LAST, [6, 6, 12, axis, F4], [out, x, ends], (), nthreads)
    place = (at, np.arange(6)) if axis == 0 else (np.arange(6), at)
    np.testing.assert_array_equal(out, x[place])
    kernel(lib.NDRT_KERNEL_SEQUENCE_LAST_GRAD, [6, 6, 12, axis, F4], [dx, out, ends], (), nthreads)
    want = np.zeros_like(dx)
    want[place] = out
    np.testing.assert_array_equal(dx, want)


@pytest.mark.parametrize(("which", "counts", "match"), [
    (lib.NDRT_KERNEL_FLAT_PLACES, [8, 1, I4], "8 axes"),
    (lib.NDRT_KERNEL_FLAT_PLACES, [1, 1, I4, -2], "length -2"),
    (lib.NDRT_KERNEL_FLAT_PLACES, [2, 1, I4, 2**40, 2**40], "elements"),
    (lib.NDRT_KERNEL_FLAT_PLACES, [1, 1, lib.NDRT_F16, 2], "places of kind 1"),
    (lib.NDRT_KERNEL_PUT_ROWS, [-1, 1, 1], "below 0"),
    (lib.NDRT_KERNEL_PUT_ROWS, [2**40, 1, 2**40], "more elements than can be"),
    (lib.NDRT_KERNEL_SEQUENCE_LAST, [0, 2, 4, 0, I8], "no steps"),
    (lib.NDRT_KERNEL_SEQUENCE_REVERSE, [2**31, 2**31, 4, I8], "more elements than can be")])
def test_refusals(which: int, counts: list[int], match: str) -> None:
    mems = [np.zeros(4, "f8")] * 3
    with pytest.raises(ParameterError, match=match):
        kernel(which, counts, mems)
