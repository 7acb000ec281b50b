"""Functions of elements: of one array, of two, and of an array and a number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..call import Call
from ..table import Refused, exports

_UNARY = {"abs": "Abs", "negative": "Neg", "sign": "Sign", "relu": "Relu", "sigmoid": "Sigmoid",
          "tanh": "Tanh", "softsign": "Softsign", "exp": "Exp", "log": "Log", "sqrt": "Sqrt",
          "reciprocal": "Reciprocal", "floor": "Floor", "ceil": "Ceil", "sin": "Sin", "cos": "Cos",
          "tan": "Tan", "sinh": "Sinh", "cosh": "Cosh", "arcsin": "Asin", "arccos": "Acos",
          "arctan": "Atan", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
          "erf": "Erf", "_contrib_sign_ste": "Sign"}


def same(c: Call) -> str:
    """The input in the dtype of the output."""
    x = c.input(0)
    return x if c.dtype() == c.out_dtype() else c.cast(x, c.out_dtype())


# of whole numbers these are defined too, and the last ones change nothing
_OF_ANY = {"abs", "negative", "sign", "relu", "square", "logical_not", "_contrib_sign_ste"}
_ROUNDING = {"floor", "ceil", "round", "rint", "fix", "trunc", "_contrib_round_ste"}


def _is_done(c: Call) -> bool:
    """Whole numbers that rounding leaves. Refused for functions of other numbers only."""
    if c.out_dtype().kind == "f" or c.operator in _OF_ANY:
        return False
    if c.operator not in _ROUNDING:
        raise Refused(f"an array of {c.out_dtype()}")
    return True


@exports(*_UNARY)
def unary(c: Call) -> str:
    return same(c) if _is_done(c) else c.op(_UNARY[c.operator], same(c))


def _number(c: Call, value: float) -> str:
    return c.const(value, c.out_dtype())


_COMPOSED: dict[str, Callable[[Call, str], str]] = {
    "square": lambda c, x: c.op("Mul", x, x),
    "rsqrt": lambda c, x: c.op("Reciprocal", c.op("Sqrt", x)),
    "cbrt": lambda c, x: _cube_root(c, x),
    "rcbrt": lambda c, x: c.op("Reciprocal", _cube_root(c, x)),
    "expm1": lambda c, x: c.op("Sub", c.op("Exp", x), _number(c, 1.0)),
    "log1p": lambda c, x: c.op("Log", c.op("Add", x, _number(c, 1.0))),
    "log2": lambda c, x: c.op("Div", c.op("Log", x), _number(c, math.log(2.0))),
    "log10": lambda c, x: c.op("Div", c.op("Log", x), _number(c, math.log(10.0))),
    "degrees": lambda c, x: c.op("Mul", x, _number(c, 180.0 / math.pi)),
    "radians": lambda c, x: c.op("Mul", x, _number(c, math.pi / 180.0)),
    "fix": lambda c, x: _truncated(c, x), "trunc": lambda c, x: _truncated(c, x),
    # halves away from zero; halves down
    "round": lambda c, x: _rounded(c, x), "_contrib_round_ste": lambda c, x: _rounded(c, x),
    "rint": lambda c, x: _stepped(c, x, "Greater"),
    "logical_not": lambda c, x: c.cast(c.op("Equal", x, _number(c, 0.0)), c.out_dtype()),
}


def _cube_root(c: Call, x: str) -> str:
    return c.op("Mul", c.op("Sign", x), c.op("Pow", c.op("Abs", x), _number(c, 1.0 / 3.0)))


def _truncated(c: Call, x: str) -> str:
    return c.op("Mul", c.op("Sign", x), c.op("Floor", c.op("Abs", x)))


def _rounded(c: Call, x: str) -> str:
    return c.op("Mul", c.op("Sign", x), _stepped(c, c.op("Abs", x), "GreaterOrEqual"))


def _stepped(c: Call, x: str, comparison: str) -> str:
    """The whole number below, and 1 more where what is left of x compares so to a half."""
    low = c.op("Floor", x)
    more = c.op(comparison, c.op("Sub", x, low), _number(c, 0.5))
    return c.op("Add", low, c.cast(more, c.out_dtype()))


@exports(*_COMPOSED)
def composed(c: Call) -> str:
    return same(c) if _is_done(c) else _COMPOSED[c.operator](c, same(c))


@exports("smooth_l1")
def smooth_l1(c: Call) -> str:
    _is_done(c)
    x, turn = c.input(0), c.p.scalar ** 2
    size = c.op("Abs", x)
    inner = c.op("Mul", c.op("Mul", x, x), c.number(0.5 * turn))
    return c.op("Where", c.op("Less", size, c.number(1.0 / turn)), inner,
                c.op("Sub", size, c.number(0.5 / turn)))


@exports("_contrib_quadratic")
def quadratic(c: Call) -> str:
    _is_done(c)
    x = c.input(0)
    inner = c.op("Add", c.op("Mul", x, c.number(c.p.a)), c.number(c.p.b))
    return c.op("Add", c.op("Mul", x, inner), c.number(c.p.c))


@exports("clip")
def clip(c: Call) -> str:
    return c.op("Clip", c.input(0), c.number(c.p.a_min), c.number(c.p.a_max))


@exports("add_n")
def add_n(c: Call) -> str:
    return c.op("Sum", *c.inputs) if c.count > 1 else c.input(0)


# ---- of two arrays, or an array and a number ---------------------------------------------------


def _plain(name: str) -> Callable[[Call, str, str], str]:
    return lambda c, a, b: c.op(name, a, b)


def _mod(c: Call, a: str, b: str) -> str:
    if c.out_dtype().kind != "f":
        return c.op("Mod", a, b)
    zero = c.op("Equal", b, _number(c, 0.0))
    safe = c.op("Where", zero, _number(c, 1.0), b)
    rest = c.op("Mod", a, safe, fmod=1)
    # fmod has the sign of the dividend
    wrong = c.op("Less", c.op("Mul", rest, safe), _number(c, 0.0))
    made = c.op("Where", wrong, c.op("Add", rest, safe), rest)
    return c.op("Where", zero, _number(c, 0.0), made)


def _hypot(c: Call, a: str, b: str) -> str:
    return c.op("Sqrt", c.op("Add", c.op("Mul", a, a), c.op("Mul", b, b)))


def _compared(name: str, negate: bool = False) -> Callable[[Call, str, str], str]:
    def function(c: Call, a: str, b: str) -> str:
        made = c.op(name, a, b)
        return c.cast(c.op("Not", made) if negate else made, c.out_dtype())
    return function


def _logical(name: str) -> Callable[[Call, str, str], str]:
    def function(c: Call, a: str, b: str) -> str:
        return c.cast(c.op(name, c.cast(a, np.bool_), c.cast(b, np.bool_)), c.out_dtype())
    return function


_BINARY: dict[str, Callable[[Call, str, str], str]] = {
    "add": _plain("Add"), "sub": _plain("Sub"), "mul": _plain("Mul"), "div": _plain("Div"),
    "power": _plain("Pow"), "maximum": _plain("Max"), "minimum": _plain("Min"), "mod": _mod,
    "hypot": _hypot, "equal": _compared("Equal"), "not_equal": _compared("Equal", True),
    "greater": _compared("Greater"), "greater_equal": _compared("GreaterOrEqual"),
    "lesser": _compared("Less"), "lesser_equal": _compared("LessOrEqual"),
    "logical_and": _logical("And"), "logical_or": _logical("Or"), "logical_xor": _logical("Xor")}
_FULL = {"plus": "add", "minus": "sub"}


def _kind(operator: str) -> str:
    name = operator.removeprefix("_").removesuffix("_scalar")
    for prefix in ("scatter_", "elemwise_", "broadcast_"):
        name = name.removeprefix(prefix)
    return _FULL.get(name, name)


_ELEMENTWISE = ("add", "sub", "mul", "div")


@exports(*(f"broadcast_{name}" for name in _BINARY),
         *(f"elemwise_{name}" for name in _ELEMENTWISE), "_scatter_elemwise_div",
         *(f"_{name}" for name in _BINARY if name not in _ELEMENTWISE))
def binary(c: Call) -> str:
    if c.dtype(0) != c.dtype(1):
        raise Refused(f"its inputs have dtypes {c.dtype(0)} and {c.dtype(1)}")
    return _BINARY[_kind(c.operator)](c, c.input(0), c.input(1))


_SCALAR = {**{f"_{name}_scalar": name for name in _BINARY if name not in ("add", "sub")},
           "_plus_scalar": "add", "_minus_scalar": "sub", "_scatter_plus_scalar": "add",
           "_scatter_minus_scalar": "sub"}
_SWAPPED = {"_rminus_scalar": "sub", "_rdiv_scalar": "div", "_rmod_scalar": "mod",
            "_rpower_scalar": "power"}


@exports(*_SCALAR, *_SWAPPED)
def scalar(c: Call) -> str:
    value = float(c.p.scalar)
    if c.out_dtype().kind in "iu" and not value.is_integer():
        raise Refused(f"the number {value} for an array of {c.out_dtype()}")
    if c.operator == "_rdiv_scalar" and c.out_dtype().kind != "f":
        raise Refused(f"division of a number by an array of {c.out_dtype()}")
    x, number = same(c), _number(c, value)
    if c.operator in _SWAPPED:
        return _BINARY[_SWAPPED[c.operator]](c, number, x)
    return _BINARY[_SCALAR[c.operator]](c, x, number)


@exports("where")
def where(c: Call) -> str:
    condition = c.cast(c.input(0), np.bool_)
    if c.rank(0) != c.rank(1):
        condition = c.reshape(condition, c.shape(0), (*c.shape(0), *(1,) * (c.rank(1) - 1)))
    return c.op("Where", condition, c.input(1), c.input(2))
