"""Products of matrices of 8-bit numbers, against NumPy; what the kernel refuses."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.quantization.ranges import rounded
from tests.native.helpers import DTYPES, kernel

BYTES = ("i1", "u1")
MADE = ("i4", "f4", "i1")
MOST = lib.NDRT_BYTE_PRODUCTS_MOST
BEHIND = 4096  # bytes of scratch that no call may write
F = np.float32


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Numbers of a dtype, and rows of its ends."""
    info = np.iinfo(dtype)
    x = np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)
    x[..., 0, :] = info.max
    x[..., -1, :] = info.min
    return x


def scratch(columns: int, depth: int, slots: int) -> Any:
    return np.zeros(slots * lib.ndrt_byte_products_scratch(columns, depth) + BEHIND, "i1")


def run(left: Any, right: Any, dtype: str, scale: float = 1.0, factor: float = 1.0,
        nthreads: int = 1, slots: int = 2) -> Any:
    """The kernel's product, each row with 7 behind it. `right` may be a transpose."""
    (batches, rows, depth), columns = left.shape, right.shape[2]
    made, room = np.full((batches, rows, columns + 1), 7, dtype), scratch(columns, depth, slots)
    counts = (batches, rows, columns, depth, rows * depth, depth,
              *(step // right.itemsize for step in right.strides), made.strides[0] // made.itemsize,
              columns + 1, left.dtype == "i1", right.dtype == "i1", DTYPES[made.dtype], slots)
    kernel(lib.NDRT_KERNEL_BYTE_PRODUCTS, counts,
           [made, left, right, room, None if dtype == "i4" else np.array([scale], "f4")],
           (factor,), nthreads)
    assert not room[-BEHIND:].any()
    return made


def wanted(left: Any, right: Any, dtype: str, scale: float = 1.0, factor: float = 1.0) -> Any:
    sums = left.astype("f8") @ right.astype("f8")
    if dtype == "i4":
        return np.rint(sums * F(factor)).astype("i4")
    with np.errstate(all="ignore"):
        steps = sums.astype("f4") * F(scale)
    return steps if dtype == "f4" else rounded(steps, np.dtype(dtype))


def turned(x: Any) -> Any:
    return np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1)


SIZES = [(1, 1, 1, 1), (2, 6, 16, 2), (1, 7, 17, 3), (3, 13, 33, 31), (2, 5, 70, 64),
         (1, 20, 15, 9), (5, 2, 1, 40)]


@pytest.mark.parametrize("nthreads", [1, 2])
@pytest.mark.parametrize("dtype", MADE)
@pytest.mark.parametrize("is_turned", [False, True])
def test_it_equals_numpy(dtype: str, is_turned: bool, nthreads: int) -> None:
    for (batches, rows, columns, depth), kinds in product(SIZES, product(BYTES, BYTES)):
        left = drawn((batches, rows, depth), kinds[0], rows)
        right = drawn((batches, depth, columns), kinds[1], columns)
        right = turned(right) if is_turned else right
        for scale, factor in ((3e-3, 1.0), (float("nan"), 0.35)):
            made = run(left, right, dtype, scale, factor, nthreads)
            np.testing.assert_array_equal(made[..., :-1], wanted(left, right, dtype, scale, factor))
            assert (made[..., -1] == 7).all()


@pytest.mark.parametrize("kinds", list(product(BYTES, BYTES)))
def test_sums_are_exact_up_to_the_greatest_depth(kinds: tuple[str, str]) -> None:
    left, right = (drawn((1, 2, MOST), kind, 0) for kind in kinds)
    right = right.transpose(0, 2, 1)
    np.testing.assert_array_equal(run(left, right, "i4")[..., :-1], wanted(left, right, "i4"))


def counts(**more: int) -> list[int]:
    names = ("batches", "rows", "columns", "depth", "left_batch", "left_row", "right_batch",
             "right_row", "right_column", "out_batch", "out_row", "left_signed", "right_signed",
             "kind", "slots")
    return [{"kind": lib.NDRT_S32, **more}.get(name, 1) for name in names]


@pytest.mark.parametrize(("given", "error"), [
    ({"batches": -1}, "out of range"), ({"rows": 1 << 31}, "out of range"),
    ({"depth": 0}, "out of range"), ({"depth": MOST + 1}, "out of range"),
    ({"left_row": -1}, "out of range"), ({"right_row": 2, "right_column": 2}, "out of range"),
    ({"slots": 0}, "out of range"), ({"kind": lib.NDRT_F16}, "a kind that there is no form for"),
    ({"kind": lib.NDRT_F32}, "a kind that there is no form for"),
    ({"batches": (1 << 31) - 2, "rows": (1 << 31) - 2, "columns": 9}, "more elements than can be")])
def test_numbers_out_of_range_are_refused(given: dict[str, int], error: str) -> None:
    with pytest.raises(ParameterError, match=f"byte products: .*{error}"):
        kernel(lib.NDRT_KERNEL_BYTE_PRODUCTS, counts(**given), [np.zeros(64, "f4")] * 4, (1.0,))


def test_a_factor_above_1_is_refused() -> None:
    for factor in (1.5, -2.0, float("nan")):
        with pytest.raises(ParameterError, match=f"byte products: a factor of {factor:g}"):
            kernel(lib.NDRT_KERNEL_BYTE_PRODUCTS, counts(), [np.zeros(64, "f4")] * 4, (factor,))


def test_arrays_must_be_there() -> None:
    for missing in range(4):
        given = [None if i == missing else np.zeros(64, "f4") for i in range(4)]
        with pytest.raises(ParameterError, match=f"array {missing} has no bytes"):
            kernel(lib.NDRT_KERNEL_BYTE_PRODUCTS, counts(), given, (1.0,))
    kernel(lib.NDRT_KERNEL_BYTE_PRODUCTS, counts(rows=0), [None] * 4, (1.0,))
