"""shape_array, size_array, index_array, ravel and unravel: what positions there are in an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import INT64, DType
from ...errors import ShapeError, where
from ...op.context import OpContext
from ...op.infer import (
    ShapeList,
    TypeList,
    merge,
    merge_types,
    need_rank,
    normalize_axis,
    same_type,
)
from ...op.params import NoParams, Params, axes, params_class
from ...op.params import shape as dims
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from .numeric import convert
from .places import whole


@params_class
class IndexArrayParams(Params):
    axes: tuple[int, ...] | None = axes(doc="the axes whose positions are given; None: all")


@params_class
class RavelParams(Params):
    shape: tuple[int, ...] = dims((), low=-1, doc="shape of the array that is meant; the first "
                                  "number may be -1")


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # positions are whole numbers: nothing comes back
    return [emit.zeros_like(node.inputs[0])]


def infer_type_int64(p: Params, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, [merge_types([outs[0], INT64])]


# ---- of the input's shape -----------------------------------------------------------------------


def shape_of_shape(p: NoParams, data: Shape) -> Shape:
    return (len(data),)


def shape_of_size(p: NoParams, data: Shape) -> Shape:
    return (1,)


def shape_of_indices(p: IndexArrayParams, data: Shape) -> Shape:
    return (*data, len(_axes(p, data)))


def _axes(p: IndexArrayParams, data: Shape) -> list[int]:
    if p.axes is None:
        return list(range(len(data)))
    return [normalize_axis(axis, len(data), "axes") for axis in p.axes]


def infer_shape(rule: Callable[[Any, Shape], Shape], p: Params, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    if ins[0] is None:
        return ins, outs
    return ins, [merge(outs[0], rule(p, ins[0]), "output shapes")]


def compute_shape(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    outs[0].write(np.array(ins[0].shape, np.int64))


def compute_size(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    outs[0].write(np.array([ins[0].size], np.int64))


def compute_indices(ctx: OpContext, p: IndexArrayParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    shape, made = ins[0].shape, np.empty(outs[0].shape, np.int64)
    for place, axis in enumerate(_axes(p, shape)):
        steps = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))
        made[..., place] = steps
    outs[0].write(made)


# ---- numbers of places --------------------------------------------------------------------------


def _steps(p: RavelParams) -> list[int]:
    """How many places lie between neighbours along each axis."""
    if not p.shape:
        raise ShapeError("shape is missing")
    if -1 in p.shape[1:]:
        raise ShapeError(f"shape={p.shape}: only its first number may be -1")
    steps = [prod(p.shape[axis + 1:]) for axis in range(len(p.shape))]
    if max(steps) > np.iinfo(np.int64).max:
        raise ShapeError(f"shape={p.shape} has more places than can be counted")
    return steps


def _held(ctx: OpContext, op: str, places: AnyArray, dtype: DType) -> AnyArray:
    """Places in data's dtype; ShapeError where that does not hold one of them."""
    made = convert(places, dtype)
    if not np.array_equal(whole(made), places):
        raise ShapeError(f"{where(op, ctx.node_name)}: data has dtype {dtype}, which does not hold "
                         "each place of the result: cast it to one that does")
    return made


def infer_shape_ravel(p: RavelParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    rank = len(_steps(p))
    need_rank(data, (2,), "data")
    need_rank(out, (1,), "the output")
    if out is not None:
        data = merge(data, (rank, *out), "shapes of data and output")
    if data is not None:
        if data[0] not in (-1, rank):
            raise ShapeError(f"data has shape {data}, expected ({rank}, n) from shape={p.shape}")
        out = merge(out, data[1:], "output shapes")
    return [data], [out]


def infer_shape_unravel(p: RavelParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    rank = len(_steps(p))
    if 0 in p.shape:
        raise ShapeError(f"shape={p.shape} has no places")
    if out is not None and out:
        data = merge(data, out[1:], "shapes of data and output")
    if data is not None:
        out = merge(out, (rank, *data), "output shapes")
    return [data], [out]


def compute_ravel(ctx: OpContext, p: RavelParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    steps = np.array(_steps(p), np.int64)
    made = (whole(ins[0]) * steps[:, None]).sum(axis=0)
    outs[0].write(_held(ctx, "_ravel_multi_index", made, ins[0].dtype))


def compute_unravel(ctx: OpContext, p: RavelParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    left, made = whole(ins[0]), []
    for step in _steps(p):
        # as C divides: what is left has the sign of the number
        rest = np.fmod(left, step)
        made.append((left - rest) // step)
        left = rest
    outs[0].write(_held(ctx, "_unravel_index", np.stack(made), ins[0].dtype))


register(OpDef("shape_array", NoParams, inputs=("data",),
               infer_shape=partial(infer_shape, shape_of_shape), infer_type=infer_type_int64,
               compute=compute_shape, gradient=gradient, ignores=(0,),
               doc="The shape of data as an int64 array.\n\nThe gradient is zero. Source: MXNet's "
                   "shape_array."))
register(OpDef("size_array", NoParams, inputs=("data",),
               infer_shape=partial(infer_shape, shape_of_size), infer_type=infer_type_int64,
               compute=compute_size, gradient=gradient, ignores=(0,),
               doc="How many elements data has, as an int64 array of shape (1,).\n\nThe gradient "
                   "is zero. Source: MXNet's size_array."))
register(OpDef("_contrib_index_array", IndexArrayParams, inputs=("data",),
               infer_shape=partial(infer_shape, shape_of_indices), infer_type=infer_type_int64,
               compute=compute_indices, gradient=gradient, ignores=(0,), names_data=True,
               doc="For each element of data its position along each axis, or along some axes.\n\n"
                   "A new last axis of int64 numbers. The gradient is zero. Source: MXNet's "
                   "_contrib_index_array."))
register(OpDef("_ravel_multi_index", RavelParams, inputs=("data",),
               infer_shape=infer_shape_ravel, infer_type=same_type, compute=compute_ravel,
               gradient=gradient, aliases=("ravel_multi_index",), names_data=True,
               doc="The numbers, in row-major order, of places in an array of a shape.\n\n"
                   "data (axes, n) has a place in each column, floats cut off towards zero; (n,) "
                   "of its dtype. Nothing is checked against the shape. Source: MXNet's "
                   "_ravel_multi_index."))
register(OpDef("_unravel_index", RavelParams, inputs=("data",),
               infer_shape=infer_shape_unravel, infer_type=same_type, compute=compute_unravel,
               gradient=gradient, aliases=("unravel_index",), names_data=True,
               doc="The places in an array of a shape that numbers in row-major order stand for."
                   "\n\nThe output has an axis for the coordinates before those of data, and its "
                   "dtype. A number beyond the array goes on along the first axis. Source: MXNet's "
                   "_unravel_index."))
