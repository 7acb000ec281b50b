"""The kernels that concatenate channels: any widths, any threads, what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels.index import concat_channels, concat_scaled
from tests.native.helpers import kernel, over_arrays, run_kernel

WIDTH = st.one_of(st.integers(1, 70), st.sampled_from((16, 64, 128)))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 300), st.lists(WIDTH, min_size=1, max_size=5), st.integers(0, 9))
def test_equals_numpy(rows: int, widths: list[int], nthreads: int) -> None:
    rng = np.random.default_rng(rows)
    parts = [rng.standard_normal((rows, width)).astype("f4") for width in widths]
    out = np.full((rows + 1, sum(widths)), np.nan, "f4")
    run_kernel(over_arrays(concat_channels)(
        out=out, parts=parts, rows=rows, columns=sum(widths), widths=widths), nthreads)
    np.testing.assert_array_equal(out[:rows], np.concatenate(parts, 1))
    assert np.isnan(out[rows]).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 300), st.lists(WIDTH, min_size=1, max_size=7), st.integers(0, 70),
       st.booleans(), st.integers(0, 9))
def test_scaled_equals_numpy(rows: int, widths: list[int], rest: int, rectify: bool,
                             nthreads: int) -> None:
    rng = np.random.default_rng(rows)
    parts = [rng.standard_normal((rows, width)).astype("f4") for width in widths]
    if rows:
        parts[0][0, 0] = np.nan
    columns = sum(widths)
    factors, shifts = rng.standard_normal((2, columns)).astype("f4")
    out = np.full((rows + 1, columns + rest), 7, "f4")
    run_kernel(over_arrays(concat_scaled)(
        out=out, factors=factors, shifts=shifts, parts=parts, rows=rows, columns=columns + rest,
        rectify=rectify, widths=widths), nthreads)
    want = np.concatenate(parts, 1) * factors + shifts
    if rectify:
        want = np.where(want > 0, want, 0)
    np.testing.assert_allclose(out[:rows, :columns], want, rtol=1e-5, atol=1e-5)
    assert (out[:, columns:] == 7).all()
    assert (out[rows] == 7).all()


@pytest.mark.parametrize(("dims", "widths", "error"), [
    ((3, 8, 8), (1,) * 8, "8 arrays"), ((3, 4, 2), (2, 3), "3 columns where 2 of 4 are left"),
    ((3, 4, 1), (-1,), "-1 columns"), ((-2, 4, 1), (4,), "-2 rows")])
def test_scaled_refuses_what_does_not_fit(dims: tuple[int, ...], widths: tuple[float, ...],
                                          error: str) -> None:
    with pytest.raises(ParameterError, match=f"concat scaled channels: .*{error}"):
        kernel(lib.NDRT_KERNEL_CONCAT_SCALED, (*dims, 0, *widths), [np.zeros((3, 8), "f4")] * 10)


def test_scaled_refuses_no_bytes() -> None:
    data = [np.zeros((3, 4), "f4")] * 4
    with pytest.raises(ParameterError, match="array 4 has no bytes"):
        kernel(lib.NDRT_KERNEL_CONCAT_SCALED, (3, 4, 2, 1, 2, 2), data)


@pytest.mark.parametrize(("dims", "widths", "error"), [
    ((-1, 4, 2), (2, 2), "-1 rows"), ((3, 4, 0), (), "0 arrays"), ((3, 6, 6), (1,) * 6, "6 arrays"),
    ((3, 4, 2), (2, 3), "3 columns where 2 of 4 are left"), ((3, 4, 2), (0, 4), "0 columns"),
    ((3, 4, 2), (-1, 5), "-1 columns"), ((3, 4, 2), (1 << 62, 2), "4611686018427387904 columns"),
    ((3, 4, 2), (1, 2), "1 of 4 columns are nobody's"), ((3, -4, 1), (4,), "4 columns where -4"),
    ((3, 4, 2), (-2, 6), "-2 columns")])
def test_refuses_what_does_not_fit(dims: tuple[int, ...], widths: tuple[float, ...],
                                   error: str) -> None:
    data = [np.zeros((3, 8), "f4") for _ in range(6)]
    with pytest.raises(ParameterError, match=error):
        kernel(lib.NDRT_KERNEL_CONCAT_CHANNELS, (*dims, *widths), data)


def test_refuses_no_bytes_and_threads_below_0() -> None:
    data = [np.zeros((3, 4), "f4")] * 2
    with pytest.raises(ParameterError, match="array 2 has no bytes"):
        kernel(lib.NDRT_KERNEL_CONCAT_CHANNELS, (3, 4, 2, 2, 2), data)
    with pytest.raises(ParameterError, match="-1 threads"):
        kernel(lib.NDRT_KERNEL_CONCAT_CHANNELS, (3, 4, 1, 4), data, nthreads=-1)
