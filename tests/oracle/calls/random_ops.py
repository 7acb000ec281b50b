"""Random operators: shapes and dtypes, what is certain, and densities with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..call import Array, Call, Given

DRAWN = "random numbers of another generator"


def drawn(op: str, inputs: list[Any] | None = None, **params: Any) -> Call:
    """Only shapes and dtypes."""
    return Call(op, inputs or [], params, differs=DRAWN)


TWO = ([0.5, 1.5], [1.0, 2.0])
NUMBERS: dict[str, dict[str, Any]] = {
    "uniform": {"low": -1, "high": 2}, "normal": {"loc": 1, "scale": 2},
    "gamma": {"alpha": 2, "beta": 3}, "poisson": {"lam": 3}, "exponential": {"scale": 2},
    "negative_binomial": {"k": 2, "p": 0.5},
    "generalized_negative_binomial": {"mu": 2, "alpha": 0.5}}
ARRAYS: dict[str, list[Any]] = {
    "uniform": [*TWO], "normal": [*TWO], "gamma": [*TWO], "poisson": [TWO[0]],
    "exponential": [TWO[0]], "negative_binomial": [[1, 2], [0.3, 0.6]],
    "generalized_negative_binomial": [*TWO]}
FLOAT = 1e-5  # MXNet's digamma and its constants have the precision of float
CERTAIN = [[0, 1, 0], [1, 0, 0]]  # probabilities
HALF = [[0.5, 0.5], [0.5, 0.5]]


def samples(dtype: str, *shape: int) -> Given:
    return Given((np.arange(np.prod(shape)).reshape(shape) * 5 % 7 / 4 + 0.25).tolist(), dtype)


def counts(dtype: str, *shape: int) -> Given:
    return Given((np.arange(np.prod(shape)).reshape(shape) * 5 % 7).tolist(), dtype)


PDFS: dict[str, tuple[Any, tuple[tuple[float, float], ...]]] = {
    "uniform": (samples, ((-1, 0), (2, 3))), "normal": (samples, ((-1, 1), (0.5, 2))),
    "gamma": (samples, ((0.5, 3), (0.5, 2))), "exponential": (samples, ((0.5, 2),)),
    "poisson": (counts, ((0.5, 4),)), "negative_binomial": (counts, ((1, 4), (0.2, 0.8))),
    "generalized_negative_binomial": (counts, ((1, 4), (0.2, 0.8)))}

CALLS = [
    *(drawn(f"random.{name}", shape=(2, 3), **params) for name, params in NUMBERS.items()),
    *(drawn(f"random.{name}", dtype="float64", **params) for name, params in NUMBERS.items()),
    *(drawn(f"random.{name}", dtype="float16", shape=4, **params)
      for name, params in NUMBERS.items()),
    *(drawn(f"random.{name}", arrays) for name, arrays in ARRAYS.items()),
    *(drawn(f"random.{name}", arrays, shape=(3, 2), dtype="float64")
      for name, arrays in ARRAYS.items()),
    *(drawn(f"sample_{name}", arrays, shape=3) for name, arrays in ARRAYS.items()),
    *(drawn(f"sample_{name}", [Given(x, "float64") for x in arrays])
      for name, arrays in ARRAYS.items()),
    Call("sample_normal", [*TWO], {"shape": 3}, (0, 1), differs=DRAWN),
    Call("sample_uniform", [[2.0, 3.0], [2.0, 3.0]], {"shape": 3}),
    *(drawn(f"random.{name}_like", [Given([[1, 2]], dtype)])
      for name in NUMBERS for dtype in ("float32", "float16")),
    drawn("random.randint", low=3, high=9), drawn("random.randint", low=3, high=9, shape=(2, 2)),
    Call("random.randint", [], {"low": 3, "high": 4, "shape": (2, 2)}),
    Call("random.randint", [], {"low": -(2**40), "high": 1 - 2**40, "shape": 3, "dtype": "int64"}),
    Call("random.poisson", [], {"lam": 0, "shape": 3}),
    Call("random.negative_binomial", [], {"k": 0, "p": 0.5, "shape": 3}),
    Call("random.negative_binomial", [], {"k": 3, "p": 1, "shape": 3}),
    Call("random.generalized_negative_binomial", [], {"mu": 0, "alpha": 0.5, "shape": 3}),
    *(Call("random.multinomial", [Given(CERTAIN, dtype)], params)
      for dtype in ("float32", "float64", "float16")
      for params in ({}, {"shape": 4}, {"shape": (2, 3)})),
    *(Call("random.multinomial", [CERTAIN], {"dtype": dtype, "shape": 2})
      for dtype in ("uint8", "float16", "float32", "float64")),
    Call("random.multinomial", [CERTAIN[0]]),
    Call("sample_multinomial", [[CERTAIN]], {"shape": (2, 3)}, (0,)),
    Call("sample_multinomial", [[[0.5, 0.5]]], {"get_prob": True, "shape": 3}, differs=DRAWN),
    Call("sample_multinomial", [CERTAIN], {"get_prob": True, "shape": 3}, (0,)),
    Call("sample_multinomial", [Given(CERTAIN, "float64")], {"get_prob": True}, (0,)),
    Call("sample_multinomial", [Given(HALF, "float64")], {"get_prob": True, "dtype": "float32"},
         (0,), differs=DRAWN),
    Call("random.shuffle", [[[1, 2]]]), drawn("shuffle", [Given([1, 2, 3], "int8")]),
    Call("random.shuffle", [[[3, 3], [3, 3], [3, 3]]]),
    drawn("_internal._sample_unique_zipfian", range_max=100, shape=(2, 5)),
    *(Call(f"random_pdf_{name}", [make("float32", 2, 3), *(
        Array((2,), low, high, seed=i) for i, (low, high) in enumerate(bounds))],
        {"is_log": is_log}, tuple(range(len(bounds) + 1)))
      for name, (make, bounds) in PDFS.items() for is_log in (False, True)),
    *(Call(f"random_pdf_{name}", [make("float64", 2, 3, 2), *(
        Array((2, 3), low, high, "float64", seed=i) for i, (low, high) in enumerate(bounds))],
        {}, tuple(range(len(bounds) + 1)), rtol=FLOAT)
      for name, (make, bounds) in PDFS.items()),
    *(Call("random_pdf_normal", [samples("float16", 2, 3), Given([0, 1], "float16"),
                                 Given([1, 2], "float16")], {}, grads, grad_req=req)
      for grads, req in (((0, 1, 2), "write"), ((1,), "add"))),
    *(Call("random_pdf_dirichlet", [Array((2, 3, 4), 0.1, 0.9), Array((2, 4), 1, 3)],
           {"is_log": is_log}, (0, 1)) for is_log in (False, True)),
    Call("random_pdf_dirichlet", [Array((3, 2), 0.1, 0.9, "float64"),
                                  Array((2,), 1, 3, "float64")], {}, (0, 1), rtol=FLOAT),
]
