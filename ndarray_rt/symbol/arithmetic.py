"""Arithmetic on symbols: operators with symbols and with numbers, under MXNet's names.

Symbol with symbol does not broadcast; use the broadcast_ operators for that.
"""

from __future__ import annotations

from functools import partial
from numbers import Number
from typing import Any

import numpy as np

from ..errors import TypeMismatch
from ..op.arithmetic import ARITHMETIC, BINARY, COMPARED, COMPARISONS, floor_quotient
from .create import call
from .symbol import Symbol


def _is_number(value: object) -> bool:
    return isinstance(value, Number) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _with_number(kind: str, op_name: str, symbol: Symbol, number: Any) -> Symbol:
    # MXNet writes the hint for names of nodes without an underscore, but for comparisons
    hint = op_name if kind in COMPARISONS else op_name.replace("_scalar", "scalar")
    return call(op_name, symbol, hint=hint, scalar=number)


def apply(kind: str, left: Any, right: Any) -> Symbol:
    """left ∘ right, at least one of which is a symbol; TypeMismatch for other operands."""
    names = BINARY[kind]
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return call(names.symbols, left, right, hint=names.word)
    if isinstance(left, Symbol) and _is_number(right):
        return _with_number(kind, names.scalar, left, right)
    if isinstance(right, Symbol) and _is_number(left):
        return _with_number(kind, names.reflected, right, left)
    raise TypeMismatch(f"types ({type(left).__name__}, {type(right).__name__}) not supported: "
                       "expected symbols or numbers")


def _method(kind: str, swapped: bool = False) -> Any:
    def method(self: Symbol, other: Any) -> Symbol:
        return apply(kind, other, self) if swapped else apply(kind, self, other)
    return method


def _rpow(self: Symbol, other: Any) -> Symbol:
    # MXNet names the node of this one operator differently
    if _is_number(other):
        return call("_rpower_scalar", self, hint="_rpower_scalar", scalar=other)
    return apply("power", other, self)


def _floor_divide(left: Any, right: Any) -> Symbol:
    rest = apply("modulo", left, right)
    left, right = (x.item() if isinstance(x, np.ndarray) else x for x in (left, right))
    made: Symbol = floor_quotient(left, right, rest, partial(call, "where"))
    return made


def _neg(self: Symbol) -> Symbol:
    return apply("multiply", self, -1.0)


def _abs(self: Symbol) -> Symbol:
    return call("abs", self)


_METHODS: dict[str, Any] = {
    **{f"__{name}__": _method(kind) for name, kind in (*ARITHMETIC, *COMPARED)},
    **{f"__r{name}__": _method(kind, True) for name, kind in ARITHMETIC},
    "__floordiv__": _floor_divide,
    "__rfloordiv__": lambda self, other: _floor_divide(other, self),
    "__rpow__": _rpow, "__neg__": _neg, "__abs__": _abs,
}


def install() -> None:
    """Gives Symbol its arithmetic."""
    for name, method in _METHODS.items():
        method.__name__ = name
        setattr(Symbol, name, method)
    # == makes a node, so symbols can not be elements of sets or keys of dicts
    Symbol.__hash__ = None  # type: ignore[assignment]


install()
