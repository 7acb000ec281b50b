"""stack: arrays of one shape along a new axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_all, normalize_axis, same_type
from ...op.params import Params, how_many, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from ...storage.reorder import reorder_mem
from .places import can_add
from .pointwise import need_native
from .slicing import part


@params_class
class StackParams(Params):
    num_args: int = how_many(doc="how many arrays")
    axis: int = integer(0, doc="where the new axis stands in the output")


def input_names(p: StackParams) -> tuple[str, ...]:
    return tuple(f"arg{i}" for i in range(p.num_args))


def infer_shape(p: StackParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    one, out = merge_all(ins, "shapes of the inputs"), outs[0]
    if one is None and not out:
        return ins, outs
    axis = normalize_axis(p.axis, (len(one) if one is not None else len(out or ()) - 1) + 1)
    if one is not None:
        out = merge(out, (*one[:axis], p.num_args, *one[axis:]), "output shapes")
    if out is not None:
        one = merge(one, (*out[:axis], *out[axis + 1:]), "shapes of an input and of the output")
        out = merge(out, (*out[:axis], p.num_args, *out[axis + 1:]), "output shapes")
    return [one] * len(ins), [out]


def compute(ctx: OpContext, p: StackParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(np.stack(ins, axis=p.axis))


def refuses(p: StackParams, ins: list[NDArray]) -> str | None:
    return "no elements" if 0 in ins[0].shape else need_native(ins[0])


def compute_ex(ctx: OpContext, p: StackParams, ins: list[NDArray], outs: list[Output]) -> None:
    if not outs[0].requested:
        return
    can_add(outs[0])
    stream, (shape, dtype) = ctx.stream, (ins[0].shape, ins[0].dtype)
    axis = p.axis % (len(shape) + 1)
    outer, inner = prod(shape[:axis]), prod(shape[axis:])
    flat = default_desc(dtype, (outer, inner))
    mems = [get_default(array, stream).as_desc(flat) for array in ins]
    with outs[0].open(default_desc(dtype, outs[0].shape), stream) as y:
        whole = y.as_desc(default_desc(dtype, (outer, len(ins), inner)))
        for i, mem in enumerate(mems):
            reorder_mem(stream, mem, part(whole, 1, i, 1, squeeze=True))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: StackParams = node.params
    return emit("SliceChannel", {"num_outputs": p.num_args, "axis": p.axis, "squeeze_axis": True},
                out_grads[0])


register(OpDef("stack", StackParams, inputs=input_names, infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, num_args="num_args",
               doc="num_args arrays of one shape along a new axis.\n\nOne dtype, which the output "
                   "has too. Source: MXNet's stack; oneDNN reorder."))
