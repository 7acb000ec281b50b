"""Methods of Symbol that are operators: `x.sum(axis=1)` is `sym.sum(x, axis=1)`."""

from __future__ import annotations

from typing import Any

from ..op.registry import REGISTRY
from . import functions
from .generated import function_of
from .symbol import Symbol

# method -> operator function; those whose names differ are below
NAMES = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "broadcast_to",
    "cbrt", "ceil", "clip", "cos", "cosh", "degrees", "depth_to_space", "diag", "exp", "expm1",
    "fix", "flip", "floor", "log", "log10", "log1p", "log2", "log_softmax", "max", "mean",
    "min", "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod",
    "radians", "rcbrt", "reciprocal", "relu", "repeat", "reshape", "reshape_like", "rint",
    "round", "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice",
    "slice_axis", "slice_like", "softmax", "softmin", "sort", "space_to_depth", "split", "sqrt",
    "square", "sum", "swapaxes", "take", "tan", "tanh", "tile", "topk", "transpose", "trunc",
    "zeros_like")


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
