"""Shape and type rules of matrices. Runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import DType
from ...errors import ShapeError, TypeMismatch
from ...op.infer import ShapeList, TypeList, merge, merge_dim, same_type
from ...op.registry import Shape


def need_wide(types: Sequence[DType | None]) -> None:
    """TypeMismatch for a dtype that is known and neither float32 nor float64."""
    for dtype in types:
        if dtype is not None and dtype.name not in ("float32", "float64"):
            raise TypeMismatch(f"dtype {dtype} is neither float32 nor float64")


def wide_types(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    """All inputs and outputs have one dtype, float32 or float64."""
    need_wide([*ins, *outs])
    return same_type(p, ins, outs)


def matrices(shape: Shape, what: str = "A") -> Shape:
    """The shape, which has rows and columns."""
    if len(shape) < 2:
        raise ShapeError(f"{what} has shape {shape}, expected matrices: rank 2 or more")
    return shape


def square(shape: Shape, what: str = "A") -> Shape:
    """The shape, of square matrices."""
    matrices(shape, what)
    try:
        n = merge_dim(shape[-2], shape[-1])
    except ShapeError:
        raise ShapeError(f"{what} has shape {shape}, expected square matrices") from None
    return (*shape[:-2], n, n)


def same_square(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    """All inputs and outputs are square matrices of one shape."""
    one: Shape | None = None
    for shape in (*ins, *outs):
        one = merge(one, shape)
    one = None if one is None else square(one)
    return [one] * len(ins), [one] * len(outs)


def per_matrix(shape: Shape) -> Shape:
    """One number for each square matrix: MXNet gives at least rank 1."""
    return square(shape)[:-2] or (1,)
