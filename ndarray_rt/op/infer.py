"""Shape and type rules that operators share. Runs nothing.

A shape is None (unknown) or a tuple in which -1 is an unknown dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .._array.ndarray import MAX_DIMS, MAX_SIZE, NDArray
from ..dtypes import DType
from ..errors import NdrtError, ShapeError, TypeMismatch, name_call, where
from .params import Params
from .registry import OpDef, Shape

ShapeList = list[Shape | None]
TypeList = list[DType | None]


def known(shape: Shape | None) -> bool:
    """Every dimension is known."""
    return shape is not None and -1 not in shape


def merge(a: Shape | None, b: Shape | None, what: str = "shapes") -> Shape | None:
    """Combines two partly known shapes; ShapeError where they disagree."""
    if a is None or b is None:
        return b if a is None else a
    if a == b:
        return a
    if len(a) != len(b):
        raise ShapeError(f"{what} disagree: {a} and {b}")
    made = []
    for x, y in zip(a, b, strict=True):
        if x != y and x != -1 and y != -1:
            raise ShapeError(f"{what} disagree: {a} and {b}")
        made.append(max(x, y))
    return tuple(made)


def merge_all(shapes: Sequence[Shape | None], what: str = "shapes") -> Shape | None:
    """Combines several partly known shapes; ShapeError where they disagree."""
    found: Shape | None = None
    for shape in shapes:
        found = merge(found, shape, what)
    return found


def merge_dim(a: int, b: int, what: str = "dimensions") -> int:
    if a != b and a != -1 and b != -1:
        raise ShapeError(f"{what} disagree: {a} and {b}")
    return max(a, b)


def need_like(array: NDArray, like: NDArray, what: str, source: str) -> None:
    """ShapeError or TypeMismatch if an array does not have the shape and dtype of another."""
    if array.shape != like.shape:
        raise ShapeError(f"{what} has shape {array.shape}, expected {like.shape} from {source}")
    if array.dtype != like.dtype:
        raise TypeMismatch(f"{what} has dtype {array.dtype}, expected {like.dtype} from {source}")


def same_shape(params: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    """Rule: all inputs and outputs have one shape."""
    one: Shape | None = None
    for i, shape in enumerate([*ins, *outs]):
        try:
            one = merge(one, shape)
        except ShapeError:
            what = f"input {i}" if i < len(ins) else f"output {i - len(ins)}"
            raise ShapeError(f"{what} has shape {shape}, expected {one} from input 0") from None
    return [one] * len(ins), [one] * len(outs)


def merge_types(types: Sequence[DType | None]) -> DType | None:
    """The dtype of all known ones; TypeMismatch if they differ."""
    found: DType | None = None
    for dtype in types:
        if dtype is None:
            continue
        if found is not None and found != dtype:
            raise TypeMismatch(f"dtypes disagree: {found} and {dtype}; cast one of them")
        found = dtype
    return found


def same_type(params: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    """Rule: all inputs and outputs have one dtype."""
    one = merge_types([*ins, *outs])
    return [one] * len(ins), [one] * len(outs)


def normalize_axis(axis: int, ndim: int, what: str = "axis") -> int:
    """A negative axis counted from the front; ShapeError if there is no such axis."""
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{what} {axis} is not within [-{ndim}, {ndim}), "
                         f"the axes of an array of rank {ndim}")
    return axis % ndim


def need_rank(shape: Shape | None, ranks: Sequence[int], what: str) -> None:
    """ShapeError if the rank is known and not one of `ranks`."""
    if shape is not None and len(shape) not in ranks:
        allowed = " or ".join(str(rank) for rank in ranks)
        raise ShapeError(f"{what} has shape {shape}, expected rank {allowed}")


def run_infer_shape(op: OpDef, params: Params, ins: Sequence[Shape | None],
                    outs: Sequence[Shape | None], node: str | None = None,
                    ) -> tuple[ShapeList, ShapeList]:
    """Applies an operator's shape rule; errors name operator and node."""
    try:
        made = op.infer_shape(params, list(ins), list(outs))
    except NdrtError as error:
        name_call(error, op.name, node)
        raise
    for i, shape in enumerate(made[1]):
        if shape is None or shape == outs[i]:
            continue
        if len(shape) > MAX_DIMS:
            raise ShapeError(f"{where(op.name, node)}: output {i} has shape {shape} of rank "
                             f"{len(shape)}, expected at most {MAX_DIMS}")
        if min(shape, default=0) < -1:
            raise ShapeError(f"{where(op.name, node)}: output {i} would have shape {shape}")
        if prod(shape) >= MAX_SIZE:
            raise ShapeError(f"{where(op.name, node)}: output {i} has shape {shape}, more "
                             "elements than an array can have")
    return made


def run_infer_type(op: OpDef, params: Params, ins: Sequence[DType | None],
                   outs: Sequence[DType | None], node: str | None = None,
                   ) -> tuple[TypeList, TypeList]:
    """Applies an operator's type rule; errors name operator and node."""
    try:
        return op.infer_type(params, list(ins), list(outs))
    except NdrtError as error:
        name_call(error, op.name, node)
        raise
