"""Functions of one array: the table of slopes, clip, casts, copies, losses made by users."""

from __future__ import annotations

import math

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Kind, Reference

SHAPE = (2, 20, 3, 2)
erf = np.vectorize(math.erf, otypes=[np.float64])
half_away = np.vectorize(lambda v: math.copysign(math.floor(abs(v) + 0.5), v), otypes=[float])
half_down = np.vectorize(lambda v: math.ceil(v - 0.5), otypes=[float])

# name -> (function, kind of input, low, high)
SMOOTH: dict[str, tuple[Reference, Kind, float, float]] = {
    "negative": (np.negative, "uniform", -1, 1), "abs": (np.abs, "away", -1, 1),
    "exp": (np.exp, "uniform", -3, 3), "log": (np.log, "positive", 0, 1),
    "sqrt": (np.sqrt, "positive", 0, 1), "rsqrt": (lambda x: 1 / np.sqrt(x), "positive", 0, 1),
    "square": (np.square, "uniform", -3, 3), "reciprocal": (lambda x: 1 / x, "away", -1, 1),
    "relu": (lambda x: np.maximum(x, 0), "away", -1, 1),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), "uniform", -5, 5),
    "tanh": (np.tanh, "uniform", -3, 3), "softsign": (lambda x: x / (1 + np.abs(x)), "away", 0, 0),
    "silu": (lambda x: x / (1 + np.exp(-x)), "uniform", -5, 5),
    "log2": (np.log2, "positive", 0, 1), "log10": (np.log10, "positive", 0, 1),
    "log1p": (np.log1p, "positive", 0, 1), "expm1": (np.expm1, "uniform", -1, 1),
    "cbrt": (np.cbrt, "away", -1, 1), "rcbrt": (lambda x: 1 / np.cbrt(x), "away", -1, 1),
    "sin": (np.sin, "uniform", -4, 4), "cos": (np.cos, "uniform", -4, 4),
    "tan": (np.tan, "uniform", -1, 1), "sinh": (np.sinh, "uniform", -2, 2),
    "cosh": (np.cosh, "uniform", -2, 2), "arcsin": (np.arcsin, "uniform", -0.9, 0.9),
    "arccos": (np.arccos, "uniform", -0.9, 0.9), "arctan": (np.arctan, "uniform", -3, 3),
    "arcsinh": (np.arcsinh, "uniform", -3, 3), "arccosh": (np.arccosh, "uniform", 1.1, 3),
    "arctanh": (np.arctanh, "uniform", -0.9, 0.9), "erf": (erf, "uniform", -4, 4),
    "degrees": (np.degrees, "uniform", -4, 4), "radians": (np.radians, "uniform", -200, 200),
}
NATIVE = {"negative", "abs", "sqrt", "square", "reciprocal", "relu", "sigmoid", "tanh", "degrees",
          "radians", "erf", "exp", "silu", "softsign", "rsqrt", "log", "log1p", "expm1"}
NATIVE_SLOPE = {"abs", "relu", "sigmoid", "tanh", "exp", "log", "log2", "log10", "sqrt", "square",
                "silu", "softsign", "rsqrt", "log1p", "expm1", "erf", "reciprocal"}
STEPS: dict[str, Reference] = {
    "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "fix": np.trunc, "trunc": np.trunc,
    "round": half_away, "rint": half_down, "logical_not": lambda x: (x == 0).astype(x.dtype),
    "zeros_like": np.zeros_like, "ones_like": np.ones_like,
}
HALVES = [-2.5, -1.5, -0.5, -0.25, 0.0, 0.5, 1.5, 2.5, 2.75, 0.49999997]
WHOLE = [-7, -3, 0, 2, 5, 100]


def case(name: str, shape: tuple[int, ...], dtypes: tuple[str, ...]) -> Case:
    function, kind, low, high = SMOOTH[name]
    return Case(name, {}, [Input(shape, kind=kind, low=low, high=high)], reference=function,
                native=name in NATIVE, native_backward=name in NATIVE_SLOPE, dtypes=dtypes,
                rtol={"float16": 8e-3})


CASES = [case(name, SHAPE, ("float32", "float64")) for name in SMOOTH]
CASES += [case(name, shape, ("float32", "float16")) for name in SMOOTH for shape in ((3, 4),)]
CASES += [case(name, (1, 3, 2, 3), ("float32",)) for name in sorted(NATIVE)]
CASES += [Case(name, {}, [Input((2, 5), values=HALVES)], reference=function,
               dtypes=("float32", "float64")) for name, function in STEPS.items()]
CASES += [Case(name, {}, [Input((2, 3), dtype="int32", values=WHOLE)], dtypes=("float32",),
               reference=lambda x, f=function: f(x).astype(np.int32), note="integers")
          for name, function in STEPS.items()]
# what does not fit into an integer is cut off
CASES += [Case(name, {}, [Input((3,), dtype="int32", values=[1, 2, 5])], dtypes=("float32",),
               reference=lambda x, f=SMOOTH[name][0]: np.trunc(f(x.astype(float))),
               native=False, note="integers")
          for name in ("exp", "log", "sqrt", "rsqrt", "square", "reciprocal", "relu", "sigmoid",
                       "tanh", "softsign", "sin", "arcsinh", "erf", "cbrt", "degrees", "abs",
                       "negative")]
CASES += [Case(name, {}, [Input((2, 3), values=[np.nan, np.inf, -np.inf, 0.0, 200.0, -200.0])],
               reference=lambda x, f=function: f(x.astype(np.float32)), dtypes=("float32",),
               exempt={"gradient": "not where it is infinite"}, note="far out")
          for name, function in {
              "relu": lambda x: np.maximum(x, 0), "exp": np.exp, "tanh": np.tanh, "erf": erf,
              "sigmoid": lambda x: np.where(x > 0, 1 / (1 + np.exp(-np.abs(x))),
                                            np.where(x <= 0, np.exp(x) / (1 + np.exp(x)), x)),
              "silu": lambda x: np.where(x > 0, x / (1 + np.exp(-np.abs(x))),
                                         np.where(x <= 0, x * np.exp(x) / (1 + np.exp(x)), x)),
              "sqrt": np.sqrt, "log": np.log, "abs": np.abs, "square": np.square,
              "reciprocal": lambda x: 1 / x, "floor": np.floor, "round": np.round,
              "rint": np.round, "fix": np.trunc}.items()]
CASES += [Case(name, {}, [shape], reference=SMOOTH[name][0], native=False,
               native_backward=False)
          for name in ("sigmoid", "square") for shape in ((0, 3), ())]


def clipped(low: float, high: float) -> Reference:
    return lambda x: np.where(x > high, high, np.where(x < low, low, x)).astype(x.dtype)


CASES += [Case("clip", {"a_min": low, "a_max": high}, [Input(shape, low=-1, high=1)],
               reference=clipped(low, high), native=True, native_backward=True)
          for low, high in ((0.0, 0.5), (-0.5, 0.25), (0.25, 0.5), (-2.0, 2.0))
          for shape in ((3, 4), SHAPE, (1, 3, 2, 2))]
CASES += [Case("clip", {"a_min": 0, "a_max": 6}, [Input((6,), values=[-1, 0, 3, 6, 7, 6.5])],
               reference=clipped(0, 6), native=True, gradients=lambda x, dy: dy * (
                   (x >= 0) & (x <= 6)), note="at the ends"),
          Case("clip", {"a_min": 0, "a_max": 1}, [Input((3,), values=[np.nan, np.inf, -np.inf])],
               reference=clipped(0, 1), native=True, exempt={"gradient": "NaN has no slope"},
               note="NaN"),
          Case("clip", {"a_min": 1, "a_max": -1}, [(3,)], reference=clipped(1, -1), native=True,
               note="ends the wrong way round"),
          Case("clip", {"a_min": -2.5, "a_max": 3.75}, [Input((6,), dtype="int32", values=WHOLE)],
               reference=lambda x: np.clip(x, -2, 3), dtypes=("float32",), note="integers")]

ALL = ("float32", "float64", "float16", "int32", "uint8", "int64", "int8", "bool")
CASES += [Case(name, {}, [shape], reference=lambda x: x, exact=True,
               native=0 not in shape and shape != (), dtypes=ALL if shape == (3, 4) else (
                   "float32",), gradients=gradients,
               exempt={"gradient": "tested with other shapes"} if 0 in shape else {})
          for name, gradients in (("_copy", None), ("BlockGrad", None),
                                  ("make_loss", lambda x, dy: np.ones_like(x)),
                                  ("MakeLoss", lambda x, dy: np.ones_like(x)))
          for shape in ((3, 4), (1, 20, 2, 3), (1, 3, 2, 2), (0, 2), ())]
CASES += [Case("MakeLoss", {"grad_scale": 3, **params}, [Input((2, 3), values=[
               1, 2, 3, 0, 0, 5])], reference=lambda x: x,
               gradients=lambda x, dy, g=grad: np.full_like(x, g))
          for params, grad in (({"normalization": "batch"}, 1.5),
                               ({"normalization": "valid", "valid_thresh": 1}, 1.0),
                               ({"normalization": "valid", "valid_thresh": 9}, 3.0))]
CASES += [Case("ones_like", {}, [shape], reference=np.ones_like, native=True)
          for shape in ((3, 4), SHAPE)]
VALUES = [300.0, 11.1, -1.0, -3.9, 0.0, 127.0]


def wrapped(bits: int, signed: bool) -> Reference:
    """Cut off towards zero, then modulo the range."""
    def reference(x: Array) -> Array:
        whole = np.trunc(x).astype(np.int64) % (1 << bits)
        return np.where(whole >= 1 << (bits - 1), whole - (1 << bits), whole) if signed else whole
    return reference


CASES += [Case("Cast", {"dtype": name}, [Input((2, 3), values=VALUES)], reference=reference,
               dtypes=("float32", "float64", "float16"),
               exempt={"gradient": "a step has no slope"})
          for name, reference in (("uint8", wrapped(8, False)), ("int8", wrapped(8, True)),
                                  ("int32", np.trunc), ("int64", np.trunc),
                                  ("bool", lambda x: x != 0))]
CASES += [Case("Cast", {"dtype": name}, [shape], reference=lambda x: x,
               rtol={"float16": 1e-3}, exempt={} if name == "float64" else {
                   "gradient": "finite differences are lost in the cast"},
               native=name == "float32" and 0 not in shape,
               dtypes=("float32", "float64", "int32", "bool"))
          for name in ("float32", "float64", "float16")
          for shape in ((3, 4), (2, 20, 3, 2), (0, 2))]
