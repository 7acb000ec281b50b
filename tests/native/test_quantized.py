"""Numbers as they come back from whole numbers, against NumPy; what the kernel refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import kernel


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 5), st.integers(1, 40), st.sampled_from((0, 1, 3, 16, 17, 1030)),
       st.sampled_from(((0, 255), (-128, 127), (0, 65535))), st.integers(0, 5))
def test_equals_numpy(outer: int, channels: int, inner: int, limits: tuple[int, int],
                      nthreads: int) -> None:
    rng = np.random.default_rng(outer)
    x = rng.standard_normal((outer, channels, inner)).astype("f4") * 9
    if x.size:
        x.flat[[0, -1]] = np.nan, np.inf
    scale = rng.uniform(1e-3, 1, (channels, 1)).astype("f4")
    zero = rng.integers(*limits, (channels, 1)).astype("f4")
    out = np.full((x.size + 1,), 7, "f4")
    kernel(lib.NDRT_KERNEL_QUANTIZED, x.shape, [out, x, scale, zero], limits, nthreads)
    whole = np.rint(x / scale)
    want = np.where(np.isnan(whole), -zero,
                    np.clip(whole, limits[0] - zero, limits[1] - zero)) * scale
    np.testing.assert_array_equal(out[:-1], want.reshape(-1))
    assert out[-1] == 7


@pytest.mark.parametrize(("dims", "limits", "arrays", "error"), [
    ((1, -2, 1), (0, 255), 4, "a count below 0"), ((1, 2, 1), (3, 2), 4, "limits 3 and 2"),
    ((1, 2, 1), (np.nan, 2), 4, "limits nan and 2"),
    ((2**40, 2**40, 2), (0, 1), 4, "more elements than can be"),
    ((1, 2, 1), (0, 1), 3, "array 3 has no bytes")])
def test_refuses(dims: Any, limits: Any, arrays: int, error: str) -> None:
    with pytest.raises(ParameterError, match=f"quantized: {error}"):
        kernel(lib.NDRT_KERNEL_QUANTIZED, dims, [np.zeros(2, "f4")] * arrays, limits)
