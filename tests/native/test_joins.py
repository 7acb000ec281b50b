"""The kernel that joins rows: any widths, any threads, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import kernel

WIDTHS = st.lists(st.one_of(st.integers(1, 70), st.sampled_from((16, 64, 128))), min_size=1,
                  max_size=5)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 300), WIDTHS, st.integers(0, 9))
def test_equals_numpy(rows: int, widths: list[int], nthreads: int) -> None:
    rng = np.random.default_rng(rows)
    parts = [rng.standard_normal((rows, width)).astype("f4") for width in widths]
    out = np.full((rows + 1, sum(widths)), np.nan, "f4")
    kernel(lib.NDRT_KERNEL_JOIN_ROWS, (rows, sum(widths), len(widths)), [out, *parts], widths,
           nthreads)
    np.testing.assert_array_equal(out[:rows], np.concatenate(parts, 1))
    assert np.isnan(out[rows]).all()


@pytest.mark.parametrize(("dims", "widths", "error"), [
    ((-1, 4, 2), (2, 2), "-1 rows"), ((3, 4, 0), (), "0 arrays"), ((3, 6, 6), (1,) * 6, "6 arrays"),
    ((3, 4, 2), (2, 3), "3 columns where 2 of 4 are left"), ((3, 4, 2), (0, 4), "0 columns"),
    ((3, 4, 2), (1.5, 2.5), "1.5 columns"), ((3, 4, 2), (np.nan, 2), "nan columns"),
    ((3, 4, 2), (1, 2), "1 of 4 columns are nobody's"), ((3, -4, 1), (4,), "4 columns where -4"),
    ((3, 4, 2), (-2, 6), "-2 columns")])
def test_refuses_what_does_not_fit(dims: tuple[int, ...], widths: tuple[float, ...],
                                   error: str) -> None:
    data = [np.zeros((3, 8), "f4") for _ in range(6)]
    with pytest.raises(ParameterError, match=error):
        kernel(lib.NDRT_KERNEL_JOIN_ROWS, dims, data, widths)


def test_refuses_no_bytes_and_threads_below_0() -> None:
    data = [np.zeros((3, 4), "f4")] * 2
    with pytest.raises(ParameterError, match="array 2 has no bytes"):
        kernel(lib.NDRT_KERNEL_JOIN_ROWS, (3, 4, 2), data, (2, 2))
    with pytest.raises(ParameterError, match="-1 threads"):
        kernel(lib.NDRT_KERNEL_JOIN_ROWS, (3, 4, 1), data, (4,), -1)
