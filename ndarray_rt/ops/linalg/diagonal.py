"""Diagonals and triangles as vectors, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from .rules import square, wide_types

Places = Callable[[Any, int], tuple[AnyArray, AnyArray]]


@params_class
class DiagonalParams(Params):
    offset: int = integer(0, doc="which diagonal: above 0 to the right of the main one, below it "
                          "to the left")


@params_class
class TrianParams(Params):
    offset: int = integer(0, doc="where the triangle begins; above 0 it is an upper one, below 0 "
                          "a lower one")
    lower: bool = boolean(True, doc="the lower triangle, where offset is 0; else the upper one")


def _edge(p: DiagonalParams | TrianParams, n: int) -> int:
    """The length of the diagonal of an n x n matrix."""
    length = n - abs(p.offset)
    if length < 1 and (n > 0 or p.offset):
        raise ShapeError(f"offset={p.offset}, but a matrix of {n} rows has no such diagonal")
    return max(length, 0)


def diagonal_places(p: DiagonalParams, n: int) -> tuple[AnyArray, AnyArray]:
    """(rows, columns) of a diagonal of an n x n matrix."""
    along = np.arange(n - abs(p.offset))
    return along + max(-p.offset, 0), along + max(p.offset, 0)


def triangle_places(p: TrianParams, n: int) -> tuple[AnyArray, AnyArray]:
    """(rows, columns) of a triangle: a lower one row by row, an upper one column by column."""
    if p.offset < 0 or (p.offset == 0 and p.lower):
        return np.tril_indices(n, p.offset)
    columns, rows = np.tril_indices(n, -p.offset)
    return rows, columns


def _extract(places: Places, length: Callable[[Any, int], int]) -> tuple[Any, Any]:
    def infer_shape(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        if ins[0] is None:
            return ins, outs
        a = square(ins[0])
        size = -1 if a[-1] == -1 else length(p, a[-1])
        return [a], [merge(outs[0], (*a[:-2], size), "output shapes")]

    def compute(ctx: OpContext, p: Any, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
        rows, columns = places(p, ins[0].shape[-1])
        outs[0].write(ins[0][..., rows, columns])
    return infer_shape, compute


def _make(places: Places, rows_of: Callable[[Any, Shape], int]) -> tuple[Any, Any]:
    def infer_shape(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        a = ins[0]
        if a is None:
            return ins, outs
        if not a:
            raise ShapeError(f"A has shape {a}, expected vectors: rank 1 or more")
        n = -1 if a[-1] == -1 else rows_of(p, a)
        return ins, [merge(outs[0], (*a[:-1], n, n), "output shapes")]

    def compute(ctx: OpContext, p: Any, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
        made = np.zeros(outs[0].shape, outs[0].dtype)
        rows, columns = places(p, outs[0].shape[-1])
        made[..., rows, columns] = ins[0]
        outs[0].write(made)
    return infer_shape, compute


def _triangle_rows(p: TrianParams, shape: Shape) -> int:
    size = shape[-1]
    edge = (isqrt(8 * size + 1) - 1) // 2
    if edge * (edge + 1) // 2 != size:
        raise ShapeError(f"A has shape {shape}, expected vectors of 1, 3, 6, 10, ... elements")
    return edge + abs(p.offset)


def _reverse(name: str) -> Callable[[Emit, GradNode, Sequence[Any]], list[Any]]:
    def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
        return emit(name, node.params, out_grads[0])
    return gradient


def _register(name: str, params: type[Params], rules: tuple[Any, Any], reverse: str,
              doc: str) -> None:
    infer_shape, compute = rules
    register(OpDef(f"_linalg_{name}", params, inputs=("A",), infer_shape=infer_shape,
                   infer_type=wide_types, compute=compute, gradient=_reverse(f"_linalg_{reverse}"),
                   aliases=(f"linalg_{name}",),
                   doc=f"{doc} float32 or float64. Source: MXNet's linalg_{name}."))


_register("extractdiag", DiagonalParams,
          _extract(diagonal_places, _edge), "makediag",
          "Diagonals of square matrices as vectors.\n\nThe last two axes become one.")
_register("makediag", DiagonalParams,
          _make(diagonal_places, lambda p, shape: shape[-1] + abs(p.offset)), "extractdiag",
          "Square matrices with vectors as their diagonals and zeros elsewhere.\n\nThe last axis "
          "becomes two.")
_register("extracttrian", TrianParams,
          _extract(triangle_places, lambda p, n: _edge(p, n) * (_edge(p, n) + 1) // 2),
          "maketrian", "Triangles of square matrices as vectors.\n\nThe last two axes become one; "
          "lower triangles come row by row, upper ones column by column.")
_register("maketrian", TrianParams, _make(triangle_places, _triangle_rows), "extracttrian",
          "Square matrices with vectors as their triangles and zeros elsewhere.\n\nThe last axis "
          "becomes two; lower triangles are filled row by row, upper ones column by column.")
