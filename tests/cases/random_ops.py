"""_random_uniform and _random_normal: what holds for every draw."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Reference


def within(low: float, high: float, dtype: str) -> Reference:
    """Inside [low, high), of the right mean and spread, and all different where there is room."""
    def check(ins: list[Array], outs: list[Array]) -> None:
        x = outs[0]
        assert x.dtype == dtype
        if x.size == 0:
            return
        assert np.all(x >= np.asarray(low, x.dtype))
        assert np.all(x < np.asarray(high, x.dtype)) or low == high
        if x.size > 1000:
            wide = x.astype(np.float64)
            assert abs(wide.mean() - (low + high) / 2) < 0.05 * (high - low)
            assert abs(wide.std() - (high - low) / 12**0.5) < 0.05 * (high - low)
            assert len(np.unique(x)) > 0.9 * x.size or x.dtype == np.float16
    return check


def normal(loc: float, scale: float, dtype: str) -> Reference:
    def check(ins: list[Array], outs: list[Array]) -> None:
        x = outs[0]
        assert x.dtype == dtype
        assert np.all(np.isfinite(x))
        if x.size > 1000:
            z = (x.astype(np.float64) - loc) / scale
            assert abs(z.mean()) < 0.1
            assert abs(z.std() - 1) < 0.1
            assert abs((z**3).mean()) < 0.3
            assert abs((np.abs(z) < 1).mean() - 0.6827) < 0.05
    return check


CASES = [Case("_random_uniform", {"low": low, "high": high, "shape": shape, **given}, [],
              check=within(low, high, given.get("dtype", "float32")),
              native="auto" if "dtype" in given else True, dtypes=("float32",))
         for low, high, shape, given in (
             (0, 1, (50, 40), {}), (-2.5, 3, (2000,), {"ctx": "cpu(0)"}), (0, 1, (3,), {}),
             (1, 1, (3,), {}), (0, 1, (2, 20, 3, 2), {}), (0, 1, (2000,), {"dtype": "float64"}),
             (0, 0.001, (2000,), {"dtype": "float16"}), (5, 6, (2000,), {}))]
CASES += [Case("_random_normal", {"loc": loc, "scale": scale, "shape": shape, **given}, [],
               check=normal(loc, scale, given.get("dtype", "float32")),
               native="auto" if "dtype" in given else True, dtypes=("float32",))
          for loc, scale, shape, given in (
              (0, 1, (50, 41), {}), (-2.5, 3, (2001,), {}), (0, 1, (3,), {"ctx": "cpu(0)"}),
              (5, 0.1, (2000,), {"dtype": "float64"}), (0, 1, (2000,), {"dtype": "float16"}))]
