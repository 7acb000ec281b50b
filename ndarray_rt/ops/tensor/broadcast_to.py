"""broadcast_to, broadcast_axis, broadcast_like: axes of size 1 repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, normalize_axis, same_type
from ...op.params import Params, axes, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import strided_desc
from .broadcast import infer_type_first
from .pointwise import dtype_of, move, need_native


@params_class
class BroadcastToParams(Params):
    shape: tuple[int, ...] = shape((), low=0, doc="shape of the output; 0 keeps data's size")


@params_class
class BroadcastAxisParams(Params):
    axis: tuple[int, ...] = shape((), doc="axes of size 1")
    size: tuple[int, ...] = shape((), low=0, doc="their new sizes")


@params_class
class BroadcastLikeParams(Params):
    lhs_axes: tuple[int, ...] | None = axes(doc="axes of size 1 of lhs; default all")
    rhs_axes: tuple[int, ...] | None = axes(doc="axes of rhs that give their sizes; default all")


def _repeated(data: Shape, target: Shape, cause: str) -> Shape:
    """`target`, checked: each of its sizes is data's, or data has 1 there."""
    if len(data) != len(target) or any(
            d not in (1, -1, t) and t != -1 for d, t in zip(data, target, strict=True)):
        raise ShapeError(f"data has shape {data}, expected one that broadcasts to {target} from "
                         f"{cause}")
    return target


def infer_shape_to(p: BroadcastToParams, ins: ShapeList, outs: ShapeList,
                   ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None:
        return ins, outs
    target = p.shape
    if len(target) == len(data):
        target = tuple(d if t == 0 else t for d, t in zip(data, target, strict=True))
    return ins, [merge(outs[0], _repeated(data, target, f"shape={p.shape}"), "output shapes")]


def infer_shape_axis(p: BroadcastAxisParams, ins: ShapeList, outs: ShapeList,
                     ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if len(p.axis) != len(p.size):
        raise ShapeError(f"axis {p.axis} and size {p.size} differ in length")
    if data is None:
        return ins, outs
    target = list(data)
    for axis, size in zip(p.axis, p.size, strict=True):
        at = normalize_axis(axis, len(data))
        if data[at] not in (1, -1):
            raise ShapeError(f"data has shape {data}, expected 1 along axis {axis}")
        target[at] = size
    return ins, [merge(outs[0], tuple(target), "output shapes")]


def infer_shape_like(p: BroadcastLikeParams, ins: ShapeList, outs: ShapeList,
                     ) -> tuple[ShapeList, ShapeList]:
    data, like = ins
    if data is None or like is None:
        return ins, outs
    if p.lhs_axes is None or p.rhs_axes is None:
        target = like
        if len(like) == len(data):
            # where rhs is unknown it is what lhs is, unless that is 1
            target = tuple(d if t == -1 and d != 1 else t
                           for d, t in zip(data, like, strict=True))
        return ins, [merge(outs[0], _repeated(data, target, f"rhs {like}"), "output shapes")]
    if len(p.lhs_axes) != len(p.rhs_axes) or not p.lhs_axes:
        raise ShapeError(f"lhs_axes {p.lhs_axes} and rhs_axes {p.rhs_axes} must be of one length, "
                         "at least 1")
    sizes = list(data)
    for mine, theirs in zip(p.lhs_axes, p.rhs_axes, strict=True):
        at = normalize_axis(mine, len(data), "lhs_axes")
        if data[at] not in (1, -1):
            raise ShapeError(f"lhs has shape {data}, expected 1 along axis {mine}")
        sizes[at] = like[normalize_axis(theirs, len(like), "rhs_axes")]
    return ins, [merge(outs[0], tuple(sizes), "output shapes")]


def compute(ctx: OpContext, p: Params, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(np.broadcast_to(ins[0], outs[0].shape))


def refuses(p: Params, ins: list[NDArray]) -> str | None:
    return need_native(ins[0])


def compute_ex(ctx: OpContext, p: Params, ins: list[NDArray], outs: list[Output]) -> None:
    x = get_default(ins[0], ctx.stream)
    strides = tuple(0 if d == 1 else s for d, s in zip(x.desc.dims, x.desc.strides, strict=True))
    move(ctx, x.as_desc(strided_desc(dtype_of(x.desc), outs[0].shape, strides)), outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    grads = emit("_broadcast_reduce", None, out_grads[0], node.inputs[0])
    return [*grads, *(emit.zeros_like(entry) for entry in node.inputs[1:])]


register(OpDef("broadcast_to", BroadcastToParams, inputs=("data",), infer_shape=infer_shape_to,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient,
               doc="Repeats data along its axes of size 1 up to a shape of the same rank.\n\n"
                   "A 0 in shape keeps data's size. The dtype stays. Source: MXNet's "
                   "broadcast_to; oneDNN reorder."))
register(OpDef("broadcast_axis", BroadcastAxisParams, inputs=("data",),
               infer_shape=infer_shape_axis, infer_type=same_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               aliases=("broadcast_axes",),
               doc="Repeats data along the axes given, which have size 1.\n\n"
                   "The dtype stays. Source: MXNet's broadcast_axis; oneDNN reorder."))
register(OpDef("broadcast_like", BroadcastLikeParams, inputs=("lhs", "rhs"),
               infer_shape=infer_shape_like, infer_type=infer_type_first, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, ignores=(1,),
               doc="Repeats lhs along its axes of size 1 to the sizes of rhs.\n\n"
                   "With lhs_axes and rhs_axes along those only. The dtype stays. Source: MXNet's "
                   "broadcast_like; oneDNN reorder."))
