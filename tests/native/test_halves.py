"""Numbers of 16 bits widened and floats rounded to them: every one, ties, NaN, any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import kernel

ml_dtypes = pytest.importorskip("ml_dtypes")
KINDS = [(lib.NDRT_F16, np.dtype(np.float16)), (lib.NDRT_BF16, np.dtype(ml_dtypes.bfloat16))]
over_kinds = pytest.mark.parametrize(("kind", "dtype"), KINDS, ids=["float16", "bfloat16"])
ALL = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)


def same_numbers(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    known = ~np.isnan(want)
    size = f"u{want.dtype.itemsize}"
    np.testing.assert_array_equal(got.view(size)[known], want.view(size)[known])


@pytest.mark.parametrize("nthreads", [1, 3])
@over_kinds
def test_every_number_is_widened(kind: int, dtype: Any, nthreads: int) -> None:
    data = np.concatenate([ALL, ALL[:13]])
    out = np.full(data.size + 1, 7, "f4")
    kernel(lib.NDRT_KERNEL_WIDEN, (data.size, kind), [out, data], (), nthreads)
    with np.errstate(all="ignore"):
        same_numbers(out[:-1], data.view(dtype).astype("f4"))
    assert out[-1] == 7


@pytest.mark.parametrize("nthreads", [1, 3])
@over_kinds
def test_rounds_to_the_nearest_even(kind: int, dtype: Any, nthreads: int) -> None:
    with np.errstate(all="ignore"):
        exact = ALL.view(dtype).astype("f4")
        near = np.concatenate([exact, np.nextafter(exact, np.float32(np.inf))])
        # halfway between neighbours, and a little to both sides
        middle = ((exact[:-1].astype("f8") + exact[1:]) / 2).astype("f4")
        bits = np.random.default_rng(1).integers(0, 1 << 32, 99991, dtype=np.uint32).view("f4")
        data = np.concatenate([near, middle, np.nextafter(middle, np.float32(0)), bits])
        want = data.astype(dtype)
    out = np.full(data.size + 1, 7, np.uint16)
    kernel(lib.NDRT_KERNEL_NARROW, (data.size, kind), [out, data], (), nthreads)
    # NumPy's comparison of bfloat16 knows NaN only as float32
    got, wanted = out[:-1].view(dtype), want
    nan = np.isnan(wanted.astype("f4"))
    np.testing.assert_array_equal(np.isnan(got.astype("f4")), nan)
    np.testing.assert_array_equal(got.view("u2")[~nan], wanted.view("u2")[~nan])
    assert out[-1] == 7


@pytest.mark.parametrize(("dims", "arrays", "error"), [
    ((-1, lib.NDRT_F16), 2, "a count below 0"), ((2, lib.NDRT_F32), 2, "numbers of kind"),
    ((2, lib.NDRT_BF16), 1, "array 1 has no bytes")])
@pytest.mark.parametrize("which", [lib.NDRT_KERNEL_WIDEN, lib.NDRT_KERNEL_NARROW])
def test_refuses(which: int, dims: Any, arrays: int, error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        kernel(which, dims, [np.zeros(2, "f4")] * arrays, ())
