"""Methods of Symbol that are operators: `x.sum(axis=1)` is `sym.sum(x, axis=1)`."""

from __future__ import annotations

from typing import Any

from ..op.arithmetic import METHODS
from ..op.registry import REGISTRY
from . import functions
from .generated import function_of
from .symbol import Symbol

# method -> operator function; those whose names differ are below
NAMES = (*METHODS, "broadcast_to", "transpose")


def _method(name: str) -> Any:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
        return function_of(name)(self, *args, **kwargs)
    method.__name__ = name
    method.__qualname__ = f"Symbol.{name}"
    method.__doc__ = f"`sym.{name}` with this symbol as its first input."
    return method


def reshape(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """`sym.reshape` with this symbol as data; the shape as a tuple, or as several ints."""
    if len(args) > 1 and all(isinstance(arg, int) for arg in args):
        args = (args,)
    return function_of("reshape")(self, *args, **kwargs)


def astype(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """`sym.cast` with this symbol as data."""
    return function_of("cast")(self, *args, **kwargs)


def flatten(self: Symbol, inplace: bool = False, **kwargs: Any) -> Symbol:
    """`sym.flatten` with this symbol as data."""
    return function_of("flatten")(self, **kwargs)


def expand_dims(self: Symbol, axis: int, inplace: bool = False, **kwargs: Any) -> Symbol:
    """`sym.expand_dims` with this symbol as data."""
    return function_of("expand_dims")(self, axis=axis, **kwargs)


def squeeze(self: Symbol, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Symbol:
    """`sym.squeeze` with this symbol as data."""
    return function_of("squeeze")(self, axis=axis, **kwargs)


def split_v2(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """`sym.split_v2` with this symbol as data."""
    return functions.split_v2(self, *args, **kwargs)


def install() -> None:
    """Adds to Symbol the methods whose operators are registered."""
    for name in NAMES:
        if name not in REGISTRY:
            continue
        setattr(Symbol, name, _method(name))
    for own in (reshape, astype, flatten, expand_dims, squeeze):
        setattr(Symbol, own.__name__, own)
    if "_split_v2" in REGISTRY:
        Symbol.split_v2 = split_v2  # type: ignore[attr-defined]


install()
