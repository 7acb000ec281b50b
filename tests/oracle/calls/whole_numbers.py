"""Arithmetic of whole numbers: sums wrap around, quotients are cut off, numbers do not fit."""

from __future__ import annotations

from ..call import Call, Given
from .dtypes import CUT, FLOATS, INF, NAN, WHOLE, ends, small

ARITHMETIC = ("add", "sub", "mul", "div", "mod", "power", "maximum", "minimum", "hypot")
LOGIC = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal",
         "logical_and", "logical_or", "logical_xor")


def beside(dtype: str) -> Given:
    """What `ends` meets: none is 0 or -1."""
    other = [2, 3, 5, 2, 7, 3, 2, 4]
    return Given(other if dtype == "uint8" else [*other, -2, 3, -3, 5], dtype)


CALLS = [
    # sums, products and differences wrap around; quotients are cut off; powers go through float
    *(Call(f"broadcast_{name}", [ends(dtype), beside(dtype)])
      for name in (*ARITHMETIC, *LOGIC) for dtype in WHOLE
      if (name, dtype) not in (("power", "int64"), ("mod", "int64"), ("hypot", "int64"))),
    *(Call(f"elemwise_{name}", [ends(dtype), beside(dtype)]) for name in ("add", "mul")
      for dtype in WHOLE),
    # there is a mod, and a power, of 0 and of what is negative
    *(Call("broadcast_mod", [small(dtype), Given([0, 2, 3, 0, 2, 3], dtype)]) for dtype in WHOLE),
    Call("broadcast_power", [Given([2, -2, 1, -1, 3], "int32"),
                             Given([-1, -1, -5, -3, 3], "int32")]),
    *(Call("broadcast_mod", [Given([5.5, -5.5, 5.5, -5.5, NAN, INF, 1, 0], dtype),
                             Given([2, 2, -2, -2, 1, 2, 0, INF], dtype)]) for dtype in FLOATS),
    # a number is cast to the array's dtype first, also where it does not fit
    *(Call(f"_internal.{name}_scalar", [small(dtype)], {"scalar": scalar})
      for name in ("_plus", "_minus", "_rminus", "_mul", "_maximum", "_minimum", "_equal",
                   "_greater", "_lesser_equal")
      for dtype in WHOLE for scalar in (2.75, -2.75, 300)),
    *(Call(f"_internal.{name}_scalar", [small(dtype)], {"scalar": scalar})
      for name in ("_div", "_mod", "_rdiv", "_rmod", "_power", "_rpower", "_hypot")
      for dtype in WHOLE for scalar in (3, 2.75)),
    *(Call(f"_internal.{name}_scalar", [small(dtype)], {"scalar": 2.5, "is_int": False})
      for name in ("_plus", "_div", "_rdiv", "_mod", "_power", "_greater") for dtype in WHOLE),
    Call("_internal._plus_scalar", [Given([True, False], "bool")], {"scalar": 2.75}),
    *(Call(f"_internal.{name}_scalar", [Given(CUT, "float32")], {"scalar": scalar})
      for name in ("_plus", "_maximum", "_greater", "_power") for scalar in (NAN, INF)),
]
