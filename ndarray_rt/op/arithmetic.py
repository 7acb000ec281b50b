"""Arithmetic and methods of arrays and symbols: which operator each one is. The tables of both."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Number
from typing import Any, NamedTuple

import numpy as np


class Binary(NamedTuple):
    """The operators of one binary function."""

    same: str  # arrays of one shape
    broadcast: str  # other arrays
    symbols: str  # two symbols, which do not broadcast
    word: str  # what nodes of `symbols` are named after
    scalar: str  # array and number
    reflected: str  # number and array
    python: Callable[[Any, Any], Any]  # number and number


def _named(name: str, python: Callable[[Any, Any], Any], word: str = "", reflected: str = "",
           elemwise: bool = False) -> Binary:
    broadcast, word = f"broadcast_{name}", word or name
    return Binary(f"elemwise_{name}" if elemwise else broadcast, broadcast,
                  f"elemwise_{name}" if elemwise else f"_{word}", f"_{word}", f"_{word}_scalar",
                  f"_{reflected or word}_scalar", python)


COMPARISONS = {
    "equal": _named("equal", lambda a, b: float(a == b)),
    "not_equal": _named("not_equal", lambda a, b: float(a != b)),
    "greater": _named("greater", lambda a, b: float(a > b), reflected="lesser"),
    "greater_equal": _named("greater_equal", lambda a, b: float(a >= b), reflected="lesser_equal"),
    "lesser": _named("lesser", lambda a, b: float(a < b), reflected="greater"),
    "lesser_equal": _named("lesser_equal", lambda a, b: float(a <= b), reflected="greater_equal"),
}
BINARY: dict[str, Binary] = {
    "add": _named("add", operator.add, "plus", elemwise=True),
    "subtract": _named("sub", operator.sub, "minus", "rminus", elemwise=True),
    "multiply": _named("mul", operator.mul, elemwise=True),
    "divide": _named("div", operator.truediv, "div", "rdiv", elemwise=True),
    "modulo": _named("mod", operator.mod, "mod", "rmod"),
    "power": _named("power", operator.pow, "power", "rpower"),
    "maximum": _named("maximum", max),
    "minimum": _named("minimum", min),
    "hypot": _named("hypot", np.hypot),
    **COMPARISONS,
    "logical_and": _named("logical_and", lambda a, b: float(bool(a) and bool(b))),
    "logical_or": _named("logical_or", lambda a, b: float(bool(a) or bool(b))),
    "logical_xor": _named("logical_xor", lambda a, b: float(bool(a) != bool(b))),
}

# Python's operators: with numbers on either side, and comparisons
ARITHMETIC = (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"),
              ("mod", "modulo"), ("pow", "power"))
COMPARED = (("eq", "equal"), ("ne", "not_equal"), ("gt", "greater"), ("ge", "greater_equal"),
            ("lt", "lesser"), ("le", "lesser_equal"))


def floor_quotient(lhs: Any, rhs: Any, rest: Any,
                   where: Callable[[Any, Any, Any], Any] | None) -> Any:
    """lhs // rhs, which leaves `rest`, of arrays, symbols and numbers, of which one is no number.

    As np.floor_divide has it; gradients are 0. From 2**22 on (float32) a quotient may differ from
    NumPy's in its last bit. `where` is the operator of that name; None for whole numbers.
    """
    def negative(x: Any) -> Any:
        return float(x < 0) if isinstance(x, Number) else x < 0  # type: ignore[operator]

    # truncated first: for the least whole number lhs - rest would come round
    fraction = (rest != 0) * (negative(lhs) != negative(rhs))
    whole = ((lhs - (rest - rhs * fraction)) / rhs).rint() - fraction
    if where is None or (isinstance(rhs, Number) and not np.isinf(rhs)):  # type: ignore[call-overload]
        return whole
    # 0, or -1 if the signs differ; NaN where lhs is infinite or one of them NaN
    by_infinity = (lhs - lhs) / rhs - fraction
    return by_infinity if isinstance(rhs, Number) else where(rhs * 0 != 0, by_infinity, whole)


# methods of arrays and of symbols that are the operator of their name
METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "cbrt", "ceil",
    "clip", "cos", "cosh", "degrees", "depth_to_space", "diag", "exp", "expm1", "fix", "flip",
    "floor", "log", "log10", "log1p", "log2", "log_softmax", "max", "mean", "min", "nanprod",
    "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod", "radians", "rcbrt",
    "reciprocal", "relu", "repeat", "reshape_like", "rint", "round", "rsqrt", "shape_array",
    "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like", "softmax",
    "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "sum", "swapaxes", "take",
    "tan", "tanh", "tile", "topk", "trunc", "zeros_like")
