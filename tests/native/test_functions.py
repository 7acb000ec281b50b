"""The kernel of functions: as exact as float32 can be, any number of threads, what it refuses."""

from __future__ import annotations

import math
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


def gelu_tanh(x: Any) -> Any:
    return x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


SIZES = np.concatenate([np.linspace(0, 12, 200001), np.logspace(-37, 2, 40001)])
SIGNED = np.concatenate([SIZES, -SIZES, [0.0, -0.0, 1e4, -1e4, np.inf, np.nan]]).astype("f4")


@pytest.mark.parametrize(("which", "function", "rtol"), [
    (lib.NDRT_FUNCTION_TANH, np.tanh, 2e-7), (lib.NDRT_FUNCTION_EXPM1, np.expm1, 2e-7),
    (lib.NDRT_FUNCTION_ERF, np.vectorize(math.erf), 2e-7),
    (lib.NDRT_FUNCTION_GELU_TANH, gelu_tanh, 2e-5)], ids=["tanh", "expm1", "erf", "gelu_tanh"])
def test_nearly_as_exact_as_float32(which: int, function: Callable[[Any], Any], rtol: float,
                                     ) -> None:
    """gelu_tanh has the rounding error of its exponent, too, which may be -87."""
    out = np.empty_like(SIGNED)
    with np.errstate(all="ignore"):
        want = function(SIGNED.astype("f8"))
        kernel(lib.NDRT_KERNEL_FUNCTION, [SIGNED.size, which], [out, SIGNED], (), 2)
        want[np.isinf(want.astype("f4"))] = np.inf
        is_seen = ~(np.abs(want) < 2.0 ** -120)
        np.testing.assert_allclose(out[is_seen], want[is_seen], rtol=rtol)
    np.testing.assert_array_less(np.abs(out[~is_seen]), 2.0 ** -119)
    assert (np.signbit(out) == np.signbit(SIGNED))[~np.isnan(SIGNED)].all()


@pytest.mark.parametrize(("counts", "match"), [
    ([4, -1], "function -1"), ([4, 1000], "function 1000"), ([4, 1 << 40], "function 2147483647"),
    ([-1, lib.NDRT_FUNCTION_LOG], "below 0")])
def test_refusals(counts: list[int], match: str) -> None:
    x = np.zeros(4, "f4")
    with pytest.raises(ParameterError, match=match):
        kernel(lib.NDRT_KERNEL_FUNCTION, counts, [x, x, x])
