"""Functions of one array: every one of the table, its gradient, integers, halves, odd numbers."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call, Given

# name -> where its argument lies
DOMAIN: dict[str, tuple[float, float]] = {
    "negative": (-3, 3), "abs": (-3, 3), "sign": (-3, 3), "relu": (-3, 3), "sigmoid": (-6, 6),
    "tanh": (-3, 3), "softsign": (-3, 3), "exp": (-4, 4), "expm1": (-3, 3), "log": (0.05, 9),
    "log2": (0.05, 9), "log10": (0.05, 9), "log1p": (-0.9, 9), "sqrt": (0.05, 9),
    "rsqrt": (0.05, 9), "cbrt": (0.05, 9), "rcbrt": (0.05, 9), "square": (-3, 3),
    "reciprocal": (0.05, 3), "floor": (-4, 4), "ceil": (-4, 4), "round": (-4, 4),
    "rint": (-4, 4), "fix": (-4, 4), "trunc": (-4, 4), "sin": (-6, 6), "cos": (-6, 6),
    "tan": (-1.4, 1.4), "sinh": (-3, 3), "cosh": (-3, 3), "arcsin": (-0.95, 0.95),
    "arccos": (-0.95, 0.95), "arctan": (-5, 5), "arcsinh": (-5, 5), "arccosh": (1.05, 6),
    "arctanh": (-0.95, 0.95), "degrees": (-6, 6), "radians": (-400, 400), "erf": (-3, 3),
    "erfinv": (-0.98, 0.98), "gamma": (-3.9, 6), "gammaln": (-3.9, 20), "logical_not": (-3, 3),
}
STEPS = {"sign", "floor", "ceil", "round", "rint", "fix", "trunc", "logical_not"}
# MXNet computes these, or their slopes, with constants of single precision also in double
SINGLE = {"gamma": 1e-5, "gammaln": 1e-5, "degrees": 1e-7, "radians": 1e-7, "erf": 1e-7,
          "erfinv": 1e-7}
ODD = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1.5]


def call(name: str, dtype: str) -> Any:
    low, high = DOMAIN[name]
    slope = name not in STEPS
    return Call(name, [Array((3, 5), low, high, dtype, whole=False)], {}, (0,) if slope else (),
                head_scale=8, rtol=SINGLE.get(name, 0.0) if dtype == "float64" else 0.0)


CALLS = [call(name, dtype) for dtype in ("float32", "float64", "float16") for name in DOMAIN]
CALLS += [Call(name, [Given(ODD)]) for name in DOMAIN]
CALLS += [Call(name, [Given([0, 1, 2, 7], "int32")]) for name in DOMAIN]
CALLS += [Call(name, [Given([-3, 0, 1, 2], "int8")]) for name in (
    "abs", "negative", "sign", "square", "relu", "exp", "gammaln", "erfinv", "floor")]
CALLS += [Call(name, [Array((2, 3), low, high)], {}, (0,), grad_req="add")
          for name, (low, high) in DOMAIN.items() if name in ("exp", "sqrt", "gamma", "square")]

WHOLE = [-7, -3, 0, 2, 5, 100]
CALLS += [
    *(Call("clip", [Array((3, 4), -2, 2, dtype)], {"a_min": -0.75, "a_max": 0.5}, (0,))
      for dtype in ("float32", "float64", "float16")),
    Call("clip", [Given(ODD[1:])], {"a_min": -1, "a_max": 1.5}, (0,)),
    Call("clip", [Given(WHOLE, "int32")], {"a_min": -2.5, "a_max": 3.75}),
    Call("clip", [[1.0, -1.0]], {"a_min": 1, "a_max": -1}),
    *(Call("Cast", [Given([300.5, 11.1, -1.5, -3.9, 0, 127])], {"dtype": dtype}, ())
      for dtype in ("uint8", "int8", "int32", "int64", "float16", "float64")),
    *(Call("Cast", [Array((2, 3), -4, 4, source)], {"dtype": target}, (0,))
      for source, target in (("float32", "float64"), ("float64", "float32"),
                             ("float16", "float32"), ("float32", "float16"))),
    Call("Cast", [Given(WHOLE, "int32")], {"dtype": "float32"}),
    Call("amp_cast", [Array((2, 3), -4, 4)], {"dtype": "float16"}, (0,)),
    Call("amp_cast", [Given(WHOLE, "int32")], {"dtype": "float16"}),
    *(Call("hard_sigmoid", [Array((3, 5), -4, 4, dtype)], params, (0,))
      for dtype in ("float32", "float64", "float16")
      for params in ({}, {"alpha": 0.3, "beta": 0.25})),
    Call("hard_sigmoid", [Given(ODD)], {}, (0,)),
    *(Call("smooth_l1", [Array((3, 5), -3, 3, dtype)], {"scalar": scalar}, (0,))
      for dtype in ("float32", "float64", "float16") for scalar in (1.0, 2.0, 0.5)),
    Call("smooth_l1", [Given(ODD)], {"scalar": 1}, (0,)),
    Call("smooth_l1", [Given(ODD)], {"scalar": 0}, (0,)),
    Call("smooth_l1", [Given(WHOLE, "int32")], {"scalar": 1}),
    *(Call("contrib.quadratic", [Array((3, 2), -3, 3, dtype)], {"a": 1.5, "b": -2, "c": 3}, (0,))
      for dtype in ("float32", "float64", "float16")),
    Call("contrib.quadratic", [Given([1, 2], "int32")], {"a": 1.5, "b": 2, "c": 3}, (0,)),
]
