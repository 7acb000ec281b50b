"""The kernel of functions: as exact as float32 can be, any number of threads, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.tensor.special import erfinv
from tests.native.helpers import kernel

ANY = np.concatenate([np.linspace(0.5, 2, 20001), np.logspace(-44, 38, 20001),
                      -np.logspace(-44, 0, 999), [0.0, -0.0, np.inf, -np.inf, np.nan]]).astype("f4")
UNIT = np.concatenate([np.linspace(-1, 1, 40001), 1 - np.logspace(-7.2, -0.1, 999),
                       [2.0, np.nan]]).astype("f4")


@pytest.mark.parametrize(("which", "function", "x"), [
    (lib.NDRT_FUNCTION_LOG, np.log, ANY), (lib.NDRT_FUNCTION_LOG1P, np.log1p, ANY),
    (lib.NDRT_FUNCTION_ERFINV, erfinv, UNIT)])
def test_half_a_unit_in_the_last_place(which: int, function: Callable[[Any], Any], x: Any,
                                       ) -> None:
    with np.errstate(all="ignore"):
        want = function(x.astype("f8"))
    made = []
    for nthreads in (1, 2, 3):
        out = np.empty_like(x)
        kernel(lib.NDRT_KERNEL_FUNCTION, [x.size, which], [out, x], (), nthreads)
        made.append(out.tobytes())
    assert len(set(made)) == 1
    known = np.isfinite(want) & (np.abs(want) > 1.2e-38)
    worst = np.abs(out[known] - want[known]) / np.spacing(np.abs(want[known]).astype("f4"))
    assert worst.max() < 0.501
    np.testing.assert_array_equal(out[~np.isfinite(want)], want[~np.isfinite(want)])


@pytest.mark.parametrize(("counts", "match"), [
    ([4, -1], "function -1"), ([4, 1000], "function 1000"), ([4, 1 << 40], "function 2147483647"),
    ([-1, lib.NDRT_FUNCTION_LOG], "below 0")])
def test_refusals(counts: list[int], match: str) -> None:
    x = np.zeros(4, "f4")
    with pytest.raises(ParameterError, match=match):
        kernel(lib.NDRT_KERNEL_FUNCTION, counts, [x, x, x])
