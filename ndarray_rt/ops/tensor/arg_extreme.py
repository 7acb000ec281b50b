"""argmax, argmin and argmax_channel: where the greatest or least element along an axis is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ..._array.widened import stored_dtype
from ...dtypes import DType
from ...errors import ShapeError, TypeMismatch, Unsupported
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, normalize_axis, same_type
from ...op.params import NoParams, Params, boolean, optional_integer, params_class
from ...op.registry import OpDef, Shape, register
from ...storage.kernels.reduce import arg_extreme
from .axis_kernels import FEW_COLUMNS, along, need_kind, part_of
from .numeric import convert, ordered
from .places import need_places

Find = Callable[..., AnyArray]


@params_class
class ArgParams(Params):
    axis: int | None = optional_integer(doc="the axis to go; None: data counts as one row")
    keepdims: bool = boolean(False, doc="the axis stays, with size 1")


_CHANNELS = ArgParams.parse({"axis": 1}, "argmax_channel")


def _settled(p: Params) -> ArgParams:
    return p if isinstance(p, ArgParams) else _CHANNELS


def infer_shape(p: Params, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data, settled = ins[0], _settled(p)
    if data is None:
        return ins, outs
    rank = len(data)
    gone = range(rank) if settled.axis is None else (normalize_axis(settled.axis, rank),)
    if settled.keepdims:
        out = tuple(1 if axis in gone else dim for axis, dim in enumerate(data))
    else:
        out = tuple(dim for axis, dim in enumerate(data) if axis not in gone) or (1,)
    if known(data) and any(data[axis] == 0 for axis in gone) and 0 not in out:
        raise ShapeError(f"data has shape {data}, of no elements there is no extreme")
    return ins, [merge(outs[0], out, "output shapes")]


def infer_type(p: Params, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    ins, outs = same_type(p, ins, outs)
    if ins[0] is not None and ins[0].kind == "b":
        raise TypeMismatch("data has dtype bool, in which there are no positions")
    return ins, outs


def compute(find: Find, ctx: OpContext, p: Params, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, axis = ins[0], _settled(p).axis
    _need_places(p, x.shape, x.dtype)
    if not outs[0].array.size:
        outs[0].write(np.empty(outs[0].shape, x.dtype))
        return
    outs[0].write(convert(find(ordered(x), axis=axis), x.dtype).reshape(outs[0].shape))


def _need_places(p: Params, data: Shape, dtype: DType) -> None:
    """ShapeError where the output's dtype, that of data, does not hold each place."""
    axis = _settled(p).axis
    need_places(prod(data) if axis is None else data[axis], dtype, data)


def refuses(p: Params, ins: list[NDArray]) -> str | None:
    return need_kind(ins[0])


def compute_ex(is_min: bool, ctx: OpContext, p: Params, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, axis = ins[0], _settled(p).axis
    _need_places(p, data.shape, stored_dtype(data))
    gone = range(data.ndim) if axis is None else (axis % data.ndim,)
    part = part_of(data.shape, tuple(gone))
    if part is None or not data.size or 1 < part[2] < FEW_COLUMNS:
        raise Unsupported("no rows or columns that a kernel goes along")
    along(ctx, arg_extreme, part, data, outs[0], least=int(is_min))


def _register(name: str, params: type[Params], which: str, find: Find, is_min: bool,
              note: str) -> None:
    register(OpDef(name, params, inputs=("data",), infer_shape=infer_shape, infer_type=infer_type,
                   compute=partial(compute, find), compute_ex=partial(compute_ex, is_min),
                   refuses=refuses, no_gradient="zero: a position has no slope",
                   doc=f"The position of the {which} element {note}.\n\nThe first of those that "
                       "are equal; NaN wins. The output has data's dtype, and "
                       "ShapeError is raised where that does not hold all positions (2048 in "
                       "float16, 256 in uint8), or where there are no elements. "
                       f"Source: MXNet's {name}; a native kernel."))


_AXIS = "along an axis, or among all"
_register("argmax", ArgParams, "greatest", np.argmax, False, _AXIS)
_register("argmin", ArgParams, "least", np.argmin, True, _AXIS)
_register("argmax_channel", NoParams, "greatest", np.argmax, False, "along the second axis")
