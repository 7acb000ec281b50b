"""elemwise_add and its family: two arrays of one shape."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Reference

ALL = ("float32", "float64", "float16", "int32", "uint8", "int64")
SHAPES = ((2, 3), (7,), (2, 20, 3, 5), (1, 3, 4, 2), (2, 32, 2, 2), (2, 5, 3), (1, 2, 3, 2, 2))


def as_input(function: Reference) -> Reference:
    """A comparison that gives 0 and 1 in the dtype of its operands."""
    return lambda a, b: function(a, b).astype(a.dtype)


def quotient(a: Array, b: Array) -> Array:
    """C's division: integers are cut off towards zero."""
    return a / b if a.dtype.kind == "f" else np.trunc(a / b).astype(a.dtype)


def logical(function: Reference) -> Reference:
    return as_input(lambda a, b: function(a != 0, b != 0))


ARITHMETIC = {"elemwise_add": np.add, "elemwise_sub": np.subtract, "elemwise_mul": np.multiply}
STEPS = {
    "_equal": np.equal, "_not_equal": np.not_equal, "_greater": np.greater,
    "_greater_equal": np.greater_equal, "_lesser": np.less, "_lesser_equal": np.less_equal,
}
LOGICAL = {"_logical_and": np.logical_and, "_logical_or": np.logical_or,
           "_logical_xor": np.logical_xor}

CASES = [Case(name, {}, [shape, shape], reference=function, native=True, native_backward="auto",
              dtypes=ALL if shape == (2, 3) else ("float32", "float64"))
         for name, function in ARITHMETIC.items() for shape in SHAPES]
CASES += [Case("elemwise_div", {}, [shape, Input(shape, kind="away")], reference=quotient,
               native=True, dtypes=ALL if shape == (2, 3) else ("float32", "float64"))
          for shape in SHAPES]
CASES[-len(SHAPES)] = Case("elemwise_div", {}, [(2, 3), Input((2, 3), kind="positive")],
                           reference=quotient, native=True, dtypes=ALL)
CASES += [Case(name, {}, [Input(shape, kind="ints", low=-2, high=3)] * 2,
               reference=as_input(function), native=True, dtypes=ALL[:4])
          for name, function in STEPS.items() for shape in ((2, 3), (2, 20, 3, 5))]
CASES += [Case(name, {}, [Input((3, 4), kind="bits")] * 2, reference=logical(function),
               native=False, dtypes=ALL)
          for name, function in LOGICAL.items()]
CASES += [Case(name, {}, [Input((2, 3), values=[np.nan, 1, np.nan, np.inf, -np.inf, 0.5]),
                          Input((2, 3), values=[1, np.nan, np.nan, np.inf, np.inf, -0.5])],
               reference=as_input(function), exempt={"gradient": "a step has no slope"},
               note="NaN and infinity")
          for name, function in {**STEPS, "_maximum": np.maximum, "_minimum": np.minimum}.items()]
CASES += [
    Case("_mod", {}, [Input((3, 4), low=-5, high=5), Input((3, 4), kind="away")],
         reference=np.mod, native=False, no_grad={1}),
    Case("_mod", {}, [Input((2, 3), values=[-7, 7, -7, 7, 5, 0]),
                      Input((2, 3), values=[2, -2, -2, 2, 0, 3])],
         reference=lambda a, b: np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b))),
         dtypes=("float32", "int32", "int8", "float16"),
         exempt={"gradient": "its slope is no number where the divisor is 0"},
         note="signs and zero"),
    Case("_power", {}, [Input((3, 4), kind="positive"), (3, 4)], reference=np.power,
         native=False),
    Case("_power", {}, [Input((2, 3), low=1, high=6, kind="ints"),
                        Input((2, 3), low=0, high=4, kind="ints")], reference=np.power,
         dtypes=("int32", "uint8", "float64")),
    *(Case(name, {}, [Input((2, 20, 3, 3), kind="distinct"),
                      Input((2, 20, 3, 3), kind="distinct", low=-0.9, high=1.3)],
           reference=function, native=True, dtypes=ALL[:4])
      for name, function in {"_maximum": np.maximum, "_minimum": np.minimum}.items()),
    Case("_maximum", {}, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], reference=np.maximum,
         gradients=lambda a, b, dy: (dy * (a >= b), dy * (a < b)), note="equal operands"),
    Case("_minimum", {}, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], reference=np.minimum,
         gradients=lambda a, b, dy: (dy * (a <= b), dy * (a > b)), note="equal operands"),
    Case("_hypot", {}, [Input((3, 4), kind="away")] * 2, reference=np.hypot, native=False),
    *(Case(name, {}, [shape, shape], reference=np.add, native=False, note="nothing to do")
      for name in ("elemwise_add",) for shape in ((0, 4), (2, 0, 3), ())),
    Case("elemwise_div", {}, [Input((2, 3), dtype="int32", values=[-7, 7, -7, 7, 5, -128]),
                              Input((2, 3), dtype="int32", values=[2, -2, -2, 2, 3, -1])],
         reference=lambda a, b: np.trunc(a / b), dtypes=("float32",), note="integers"),
]
