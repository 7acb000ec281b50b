"""Arithmetic on symbols: operators with symbols and with numbers, under MXNet's names.

Symbol with symbol does not broadcast; use the broadcast_ operators for that.
"""

from __future__ import annotations

from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from ..errors import TypeMismatch
from .create import call
from .symbol import Symbol


class _Binary(NamedTuple):
    """Operators of x ∘ y, x ∘ number and number ∘ x, each with the hint for names of its nodes."""

    both: tuple[str, str]
    right: tuple[str, str]
    left: tuple[str, str]


def _binary(both: str, word: str, swapped: str | None = None, joined: bool = True) -> _Binary:
    """`joined`: MXNet's hint has no underscore before the word scalar."""
    glue = "" if joined else "_"
    left = swapped or word
    return _Binary((both, f"_{word}"), (f"_{word}_scalar", f"_{word}{glue}scalar"),
                   (f"_{left}_scalar", f"_{left}{glue}scalar"))


ADD = _binary("elemwise_add", "plus")
SUB = _binary("elemwise_sub", "minus", "rminus")
MUL = _binary("elemwise_mul", "mul")
DIV = _binary("elemwise_div", "div", "rdiv")
MOD = _binary("_mod", "mod", "rmod")
POWER = _binary("_power", "power", "rpower")
MAXIMUM = _binary("_maximum", "maximum")
MINIMUM = _binary("_minimum", "minimum")
HYPOT = _binary("_hypot", "hypot")
EQUAL = _binary("_equal", "equal", joined=False)
NOT_EQUAL = _binary("_not_equal", "not_equal", joined=False)
GREATER = _binary("_greater", "greater", "lesser", joined=False)
GREATER_EQUAL = _binary("_greater_equal", "greater_equal", "lesser_equal", joined=False)
LESSER = _binary("_lesser", "lesser", "greater", joined=False)
LESSER_EQUAL = _binary("_lesser_equal", "lesser_equal", "greater_equal", joined=False)


def _is_number(value: object) -> bool:
    return isinstance(value, Number) or (isinstance(value, np.ndarray) and value.ndim == 0)


def apply(table: _Binary, left: Any, right: Any) -> Symbol:
    """left ∘ right, at least one of which is a symbol; TypeMismatch for other operands."""
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return call(table.both[0], left, right, hint=table.both[1])
    if isinstance(left, Symbol) and _is_number(right):
        return call(table.right[0], left, hint=table.right[1], scalar=right)
    if isinstance(right, Symbol) and _is_number(left):
        return call(table.left[0], right, hint=table.left[1], scalar=left)
    raise TypeMismatch(f"types ({type(left).__name__}, {type(right).__name__}) not supported: "
                       "expected symbols or numbers")


def _method(table: _Binary, swapped: bool = False) -> Any:
    def method(self: Symbol, other: Any) -> Symbol:
        return apply(table, other, self) if swapped else apply(table, self, other)
    return method


def _rpow(self: Symbol, other: Any) -> Symbol:
    # MXNet names the node of this one operator differently
    if _is_number(other):
        return call("_rpower_scalar", self, hint="_rpower_scalar", scalar=other)
    return apply(POWER, other, self)


def _neg(self: Symbol) -> Symbol:
    return apply(MUL, self, -1.0)


def _abs(self: Symbol) -> Symbol:
    return call("abs", self)


_METHODS: dict[str, Any] = {
    "__add__": _method(ADD), "__radd__": _method(ADD, True),
    "__sub__": _method(SUB), "__rsub__": _method(SUB, True),
    "__mul__": _method(MUL), "__rmul__": _method(MUL, True),
    "__truediv__": _method(DIV), "__rtruediv__": _method(DIV, True),
    "__mod__": _method(MOD), "__rmod__": _method(MOD, True),
    "__pow__": _method(POWER), "__rpow__": _rpow,
    "__eq__": _method(EQUAL), "__ne__": _method(NOT_EQUAL),
    "__gt__": _method(GREATER), "__ge__": _method(GREATER_EQUAL),
    "__lt__": _method(LESSER), "__le__": _method(LESSER_EQUAL),
    "__neg__": _neg, "__abs__": _abs,
}


def install() -> None:
    """Gives Symbol its arithmetic."""
    for name, method in _METHODS.items():
        method.__name__ = name
        setattr(Symbol, name, method)
    # == makes a node, so symbols can not be elements of sets or keys of dicts
    Symbol.__hash__ = None  # type: ignore[assignment]


install()
