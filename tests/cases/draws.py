"""Operators that draw random numbers: what holds for every draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

Check = Callable[[list[Array], list[Array]], None]


def like_moments(mean: float, deviation: float, dtype: str | None = None,
                 whole: bool = False) -> Check:
    """All finite, of a dtype (None: that of data), and of about this mean and deviation where there
    are many."""
    def check(ins: list[Array], outs: list[Array]) -> None:
        x = outs[0].astype(np.float64)
        assert outs[0].dtype == (dtype or ins[0].dtype)
        assert np.all(np.isfinite(x))
        assert not whole or np.all((x >= 0) & (x == np.floor(x)))
        if x.size > 1000:
            assert abs(x.mean() - mean) < 0.15 * deviation
            assert abs(x.std() - deviation) < 0.15 * deviation
    return check


def rows_of_moments(mean: list[float], deviation: list[float], dtype: str) -> Check:
    def check(ins: list[Array], outs: list[Array]) -> None:
        assert outs[0].dtype == dtype
        for row, m, d in zip(outs[0].reshape(len(mean), -1), mean, deviation, strict=True):
            like_moments(m, d, dtype)([], [row])
    return check


def whole_within(low: int, high: int, dtype: str) -> Check:
    def check(ins: list[Array], outs: list[Array]) -> None:
        assert outs[0].dtype == dtype
        assert np.all((outs[0] >= low) & (outs[0] < high))
    return check


def shuffled(ins: list[Array], outs: list[Array]) -> None:
    """The same rows."""
    def rows(x: Array) -> Array:
        flat = x.reshape(len(x), int(np.prod(x.shape[1:])))
        return flat[np.lexsort(flat.T)] if flat.size else flat
    assert np.array_equal(rows(ins[0]), rows(outs[0]))


def possible(ins: list[Array], outs: list[Array]) -> None:
    """Only places that can come; their probabilities."""
    if outs[0].size == 0:
        return
    rows = ins[0].reshape(-1, ins[0].shape[-1]).astype(np.float64)
    at = outs[0].reshape(len(rows), -1).astype(np.int64)
    found = np.take_along_axis(rows, at, axis=1)
    assert np.all((found > 0) | (rows.max(axis=1, keepdims=True) <= 0))
    if len(outs) > 1:
        np.testing.assert_allclose(outs[1].reshape(at.shape), np.log(found), rtol=2e-3, atol=2e-3)


def unique(ins: list[Array], outs: list[Array]) -> None:
    for row, tries in zip(outs[0], outs[1], strict=True):
        assert len(np.unique(row)) == len(row) <= tries
        assert row.min() >= 0


MOMENTS = {  # name -> parameters, mean, deviation
    "gamma": ({"alpha": 3.0, "beta": 2.0}, 6.0, 12**0.5),
    "exponential": ({"lam": 4.0}, 0.25, 0.25),
    "poisson": ({"lam": 2.5}, 2.5, 2.5**0.5),
    "negative_binomial": ({"k": 3, "p": 0.4}, 4.5, 11.25**0.5),
    "generalized_negative_binomial": ({"mu": 3.0, "alpha": 0.4}, 3.0, 6.6**0.5),
}
ARRAYS = {  # name -> arrays of parameters, means, deviations
    "uniform": (([0.0, -3.0], [1.0, 5.0]), [0.5, 1.0], [12**-0.5, 8 * 12**-0.5]),
    "normal": (([0.0, 5.0], [1.0, 0.5]), [0.0, 5.0], [1.0, 0.5]),
    "gamma": (([3.0, 0.5], [2.0, 1.0]), [6.0, 0.5], [12**0.5, 0.5**0.5]),
    "exponential": (([4.0, 0.5],), [0.25, 2.0], [0.25, 2.0]),
    "poisson": (([2.5, 40.0],), [2.5, 40.0], [2.5**0.5, 40**0.5]),
    "negative_binomial": (([3.0, 20.0], [0.4, 0.5]), [4.5, 20.0], [11.25**0.5, 40**0.5]),
    "generalized_negative_binomial": (([3.0, 4.0], [0.4, 0.0]), [3.0, 4.0], [6.6**0.5, 2.0]),
}
LIKE = {"uniform": ({"low": -1.0, "high": 3.0}, 1.0, 4 * 12**-0.5),
        "normal": ({"loc": 2.0, "scale": 0.5}, 2.0, 0.5), **MOMENTS}
WHOLE = ("poisson", "negative_binomial", "generalized_negative_binomial")

CASES = [Case(f"_random_{name}", {**params, "shape": shape, **given}, [],
              check=like_moments(mean, deviation, given.get("dtype", "float32"), name in WHOLE),
              native="auto", dtypes=("float32",))
         for name, (params, mean, deviation) in MOMENTS.items()
         for shape, given in (((40, 50), {}), ((3,), {"dtype": "float64"}),
                              ((2000,), {"dtype": "float16"}))]
CASES += [Case("_random_poisson", {"lam": 1000.0, "shape": (2000,)}, [], dtypes=("float32",),
               check=like_moments(1000, 1000**0.5, "float32", True))]
CASES += [Case(f"_random_{name}_like", params, [shape], no_grad={0},
               dtypes=("float32", "float64", "float16"),
               check=like_moments(mean, deviation, whole=name in WHOLE),
               exempt={"gradient": "what is drawn does not depend on data"})
          for name, (params, mean, deviation) in LIKE.items() for shape in ((2000,), (2, 3))]
CASES += [Case(f"_sample_{name}", {"shape": shape, **given}, list(map(list, arrays)),
               check=rows_of_moments(means, deviations, given.get("dtype", "float32")),
               dtypes=("float32", "float64") if shape else ("float32",),
               exempt={"gradient": "what is drawn counts as constant"})
          for name, (arrays, means, deviations) in ARRAYS.items()
          for shape, given in (((40, 50), {}), ((), {}), ((3,), {"dtype": "float64"}))]
CASES += [Case("_random_randint", {"low": low, "high": high, "shape": shape, **given}, [],
               check=whole_within(low, high, given.get("dtype", "int32")), dtypes=("float32",))
          for low, high, shape, given in (
              (0, 10, (50, 40), {}), (-5, -4, (3,), {}), (-7, 2**31 - 1, (30,), {}),
              (-2**62, 2**62, (30,), {"dtype": "int64"}))]
CASES += [Case("_shuffle", {}, [shape], check=shuffled, dtypes=("float32", "float64", "int32"),
               exempt={"gradient": "there is none"})
          for shape in ((7,), (5, 3), (2, 4, 3, 2), (1, 2), (0, 3))]
PROBABILITIES = [[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
CASES += [Case("_sample_multinomial", {"shape": shape, **given},
               [Input((3, 3), values=PROBABILITIES)], check=possible,
               dtypes=("float32", "float64", "float16"),
               exempt={"gradient": "what is drawn jumps"})
          for shape, given in (((), {}), ((20,), {"get_prob": True}), ((4, 5), {"dtype": "uint8"}),
                               ((), {"get_prob": True, "dtype": "float32"}))]
CASES += [Case("_sample_multinomial", {}, [Input((4,), values=[0.1, 0.2, 0.3, 0.4])],
               check=possible, dtypes=("float32",), exempt={"gradient": "what is drawn jumps"})]
CASES += [Case("_sample_unique_zipfian", {"range_max": n, "shape": shape}, [], check=unique,
               dtypes=("float32",)) for n, shape in ((100, (2, 20)), (3, (1, 3)))]
