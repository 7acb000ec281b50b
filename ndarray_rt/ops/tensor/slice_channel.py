"""SliceChannel: an array cut into equal parts along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_all, normalize_axis, same_type
from ...op.params import Params, boolean, how_many, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from .pointwise import need_native, unblocked
from .slicing import scatter


@params_class
class SliceChannelParams(Params):
    num_outputs: int = how_many(doc="how many parts")
    axis: int = integer(1, doc="the axis that is cut")
    squeeze_axis: bool = boolean(False, doc="drop the axis, of which each part has length 1")


def output_names(p: SliceChannelParams) -> tuple[str, ...]:
    return tuple(f"output{i}" for i in range(p.num_outputs))


def infer_shape(p: SliceChannelParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, part = ins[0], merge_all(outs, "output shapes")
    if data is None:
        return ins, [part] * len(outs)
    axis, count = normalize_axis(p.axis, len(data)), p.num_outputs
    length = data[axis]
    if length != -1 and length % count:
        raise ShapeError(f"data has shape {data}, expected a multiple of num_outputs={count} along "
                         f"axis {axis}")
    if p.squeeze_axis:
        if length not in (-1, count):
            raise ShapeError(f"data has shape {data}, expected {count} along axis {axis} from "
                             f"num_outputs={count}, squeeze_axis=True")
        part = merge(part, (*data[:axis], *data[axis + 1:]), "output shapes")
        if part is not None:
            data = merge(data, (*part[:axis], count, *part[axis:]))
    else:
        share = -1 if length == -1 else length // count
        part = merge(part, (*data[:axis], share, *data[axis + 1:]), "output shapes")
        if part is not None:
            whole = -1 if part[axis] == -1 else part[axis] * count
            data = merge(data, (*part[:axis], whole, *part[axis + 1:]))
    return [data], [part] * len(outs)


def compute(ctx: OpContext, p: SliceChannelParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    for out, part in zip(outs, np.split(ins[0], p.num_outputs, axis=p.axis), strict=True):
        out.write(part.squeeze(p.axis) if p.squeeze_axis else part)


def refuses(p: SliceChannelParams, ins: list[NDArray]) -> str | None:
    if p.squeeze_axis and len(ins[0].shape) == 1:
        return "an array of rank 0"
    return need_native(ins[0])


def compute_ex(ctx: OpContext, p: SliceChannelParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    axis = p.axis % len(ins[0].shape)
    share = ins[0].shape[axis] // p.num_outputs
    scatter(ctx, unblocked(ins[0], ctx.stream), axis, [share] * p.num_outputs, outs,
            p.squeeze_axis)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p = node.params
    grads = list(out_grads)
    if p.squeeze_axis:
        grads = [emit("expand_dims", {"axis": p.axis}, grad)[0] for grad in grads]
    return emit("Concat", {"dim": p.axis, "num_args": len(grads)}, *grads)


register(OpDef("SliceChannel", SliceChannelParams, inputs=("data",), outputs=output_names,
               infer_shape=infer_shape, infer_type=same_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, aliases=("split",),
               names_data=True,
               doc="Cuts data into num_outputs equal parts along an axis.\n\n"
                   "With squeeze_axis the axis, then of length num_outputs, is dropped. The dtype "
                   "stays. Source: MXNet's SliceChannel; oneDNN reorder."))
