"""Arguments and results of Symbol.infer_shape and infer_type in MXNet's form, around infer.py."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, find_dtype
from ..errors import NameMismatch, TypeMismatch
from ..np_shape import is_np_shape
from ..op.infer import known as shape_known
from ..op.registry import Shape
from .compose import arguments_and_aux, variables
from .infer import from_public, infer_graph_shapes, infer_graph_types, to_public
from .node import Entry

# None is what does not follow from what is known; Any, so that who knows that all does need not ask
PublicShapes = list[tuple[int, ...] | Any]
PublicTypes = list[type[Any] | Any]
Shapes = tuple[PublicShapes | Any, PublicShapes | Any, PublicShapes | Any]
Types = tuple[PublicTypes | Any, PublicTypes | Any, PublicTypes | Any]


def _given(heads: Sequence[Entry], what: str, args: Sequence[Any], kwargs: Mapping[str, Any],
           read: Callable[[Any, str], Any]) -> dict[str, Any]:
    """What the user specifies, by the name of the variable."""
    if args and kwargs:
        raise ValueError(f"infer_{what}: known {what}s are given by position or by name, not both")
    if args:
        arguments = [node.name for node in arguments_and_aux(heads)[0]]
        if len(args) > len(arguments):
            raise NameMismatch(f"infer_{what}: {len(args)} {what}s for {len(arguments)} "
                               f"argument(s): {', '.join(arguments)}")
        return {name: read(value, name) for name, value in zip(arguments, args, strict=False)
                if value is not None}
    names = [node.name for node in variables(heads)]
    for name in kwargs:
        if name not in names:
            raise NameMismatch(f"infer_{what}: there is no argument {name!r}; there are "
                               f"{', '.join(names)}")
    return {name: read(value, name) for name, value in kwargs.items()}


def _read_shape(value: Any, name: str) -> Shape | None:
    if not isinstance(value, tuple):
        raise TypeMismatch(f"infer_shape: shapes are tuples, but {name!r} got {value!r}")
    try:
        return from_public([dim.__index__() for dim in value])
    except AttributeError:
        raise TypeMismatch(f"infer_shape: shapes are tuples of ints, but {name!r} got "
                           f"{value!r}") from None


def _read_type(value: Any, name: str) -> DType | None:
    try:
        return find_dtype(value)
    except TypeMismatch as error:
        raise TypeMismatch(f"infer_type: {name!r}: {error}") from None


def _sorted(heads: Sequence[Entry], table: Mapping[Entry, Any],
            show: Callable[[Any], Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Values of arguments, outputs and aux states, each in its order."""
    args, aux = arguments_and_aux(heads)
    return ([show(table[Entry(n, 0)]) for n in args], [show(table[entry]) for entry in heads],
            [show(table[Entry(n, 0)]) for n in aux])


def _warn(what: str, note: str, unknown: list[str]) -> None:
    shown = unknown[:10] + (["..."] if len(unknown) > 10 else [])
    listed = "\n\t".join(shown)
    warnings.warn(f"Cannot decide {what} for the following arguments{note}. Consider providing "
                  f"them as input:\n\t{listed}", stacklevel=4)


def infer_shape(heads: Sequence[Entry], partial: bool, args: Sequence[Any],
                kwargs: Mapping[str, Any]) -> Shapes:
    """See Symbol.infer_shape."""
    table = infer_graph_shapes(heads, _given(heads, "shape", args, kwargs, _read_shape))
    made = _sorted(heads, table, to_public)
    if partial or all(map(shape_known, table.values())):
        return made
    names = [node.name for node in arguments_and_aux(heads)[0]]
    unknown, nothing = (-1, None) if is_np_shape() else (0, ())
    _warn("shape", f" ({unknown}s in shape means unknown dimensions)",
          [f"{name}: {shape}" for name, shape in zip(names, made[0], strict=True)
           if shape == nothing or unknown in shape])
    return None, None, None


def _numpy_type(dtype: DType | None) -> type[Any] | None:
    return None if dtype is None else np.dtype(dtype).type


def infer_type(heads: Sequence[Entry], partial: bool, args: Sequence[Any],
               kwargs: Mapping[str, Any]) -> Types:
    """See Symbol.infer_type."""
    known = _given(heads, "type", args, kwargs, _read_type)
    table = infer_graph_types(heads, known, default=None)
    made = _sorted(heads, table, _numpy_type)
    if partial or all(dtype is not None for dtype in table.values()):
        return made
    names = [node.name for node in arguments_and_aux(heads)[0]]
    _warn("type", "", [f"{name}: {dtype}" for name, dtype
                              in zip(names, made[0], strict=True) if dtype is None])
    return None, None, None
