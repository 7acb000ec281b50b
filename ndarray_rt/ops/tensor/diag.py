"""diag: the diagonal of an array, or a matrix from its diagonal."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ...errors import ShapeError
from ...op.infer import normalize_axis
from ...op.params import Params, integer, params_class
from ...op.registry import Shape
from .linear import register_linear


@params_class
class DiagParams(Params):
    k: int = integer(0, doc="which diagonal: 0 is the main one, above it those over 0")
    axis1: int = integer(0, doc="the axis of rows, for data of rank 2 and more")
    axis2: int = integer(1, doc="the axis of columns")


def _axes(p: DiagParams, rank: int) -> tuple[int, int]:
    rows, columns = normalize_axis(p.axis1, rank, "axis1"), normalize_axis(p.axis2, rank, "axis2")
    if rows == columns:
        raise ShapeError(f"axis1={p.axis1} and axis2={p.axis2} are one axis")
    return rows, columns


def out_shape(p: DiagParams, data: Shape) -> Shape:
    if not data:
        raise ShapeError("data has rank 0, expected 1 at least")
    if len(data) == 1:
        return (data[0] + abs(p.k),) * 2
    rows, columns = _axes(p, len(data))
    length = min(data[rows] + min(p.k, 0), data[columns] - max(p.k, 0))
    if length < 0 or (length == 0 and 0 not in data):
        raise ShapeError(f"data has shape {data}, which has no diagonal k={p.k} along axes "
                         f"{p.axis1} and {p.axis2}")
    return (*(dim for axis, dim in enumerate(data) if axis not in (rows, columns)), length)


def forward(p: DiagParams, x: AnyArray) -> AnyArray:
    return np.diag(x, p.k) if x.ndim == 1 else np.diagonal(x, p.k, p.axis1, p.axis2)


def back(p: DiagParams, dy: AnyArray, data: Shape) -> AnyArray:
    if len(data) == 1:
        return np.diagonal(dy, p.k)
    made = np.zeros(data, dy.dtype)
    at = np.arange(dy.shape[-1])
    np.moveaxis(made, _axes(p, len(data)), (-2, -1))[..., at - min(p.k, 0), at + max(p.k, 0)] = dy
    return made


register_linear("diag", DiagParams, out_shape, forward, back,
                "The k-th diagonal of data along two axes, or a square matrix with data on it.\n\n"
                "From rank 2 on the two axes go and the diagonal becomes the last one; data of "
                "rank 1 makes a matrix that is 0 elsewhere. The dtype stays. Raises ShapeError "
                "where there is no such diagonal. Source: MXNet's diag.")
