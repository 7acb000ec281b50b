"""Comparing arrays, and naming the element that is worst. Knows nothing of operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import is_float

Array = np.ndarray[Any, np.dtype[Any]]


def assert_close(got: Array, want: Any, rtol: float, atol: float, what: str = "result") -> None:
    """Equal shapes, NaN and infinities at the same places, the rest within atol + rtol |want|."""
    want = np.asarray(want)
    assert got.shape == want.shape, f"{what} has shape {got.shape}, expected {want.shape}"
    if got.size == 0:
        return
    if got.dtype.kind in "iub":
        _assert_equal(got, want, what)
        return
    g, w = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(g - w)
        allowed = atol + rtol * np.abs(w)
        excess = np.where((g == w) | (np.isnan(g) & np.isnan(w)), -np.inf, error - allowed)
        excess = np.where(np.isnan(excess), np.inf, excess)
    _blame(excess, g, w, what, f"|difference| <= {atol:g} + {rtol:g} |expected|")


def _assert_equal(got: Array, want: Array, what: str) -> None:
    if is_float(want.dtype):
        assert np.all(np.isfinite(want)), f"{what}: the reference is not finite, {got.dtype} is"
    excess = np.where(got == want, -np.inf, 1.0)
    _blame(excess, got, want, what, "equal")


def assert_bits(got: Array, want: Array, what: str = "result") -> None:
    """The same dtype, shape and bytes; NaNs count as equal among each other."""
    assert got.dtype == want.dtype, f"{what} has dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what} has shape {got.shape}, expected {want.shape}"
    same = got == want
    if is_float(got.dtype):
        same = (same & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))
    _blame(np.where(same, -np.inf, 1.0), got, want, what, "equal bits")


def _blame(excess: Array, got: Array, want: Array, what: str, rule: str) -> None:
    """Fails, naming the worst element, unless none is in excess."""
    bad = excess > 0
    if not bad.any():
        return
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
    raise AssertionError(
        f"{what}: {int(bad.sum())} of {bad.size} elements differ, worst at {at}: "
        f"got {got[at]!r}, expected {want[at]!r} ({rule})")
