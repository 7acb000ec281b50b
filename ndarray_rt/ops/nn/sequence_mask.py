"""SequenceMask: sets the elements after the end of each sequence to one value."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_bytes, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.kernels import index as kernels
from ..tensor.numeric import scalar_of
from ..tensor.places import kind_of, need_kind, whole
from ..tensor.pointwise import need_bytes, reshape
from .shape_rules import expect


@params_class
class SequenceMaskParams(Params):
    use_sequence_length: bool = boolean(False, doc="a second input has the lengths; False: data "
                                                   "is passed on")
    value: float = number(0.0, doc="what stands behind the ends")
    axis: int = integer(0, low=0, doc="the axis of steps, 0 or 1; the other one is the batch's")


def input_names(p: SequenceMaskParams) -> tuple[str, ...]:
    return ("data", "sequence_length") if p.use_sequence_length else ("data",)


def infer_shape(p: SequenceMaskParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if p.axis > 1:
        raise ShapeError(f"axis={p.axis}, expected 0 or 1")
    if data is not None and len(data) < 2:
        raise ShapeError(f"data has shape {data}, expected rank 2 or more")
    if not p.use_sequence_length:
        return [data], [data]
    length = ins[1] if data is None else expect(ins[1], (data[1 - p.axis],), "sequence_length",
                                                f"data {data}, axis={p.axis}")
    return [data, length], [data]


def infer_type(p: SequenceMaskParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, *ins[1:]], [one]


def compute(ctx: OpContext, p: SequenceMaskParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data = ins[0]
    if p.use_sequence_length:
        steps, ends = np.arange(data.shape[p.axis]), whole(ins[1])
        inside = steps[:, None] < ends if p.axis == 0 else steps < ends[:, None]
        inside = inside.reshape(*data.shape[:2], *(1,) * (data.ndim - 2))
        data = np.where(inside, data, scalar_of(p.value, data.dtype))
    outs[0].write(data)


def refuses(p: SequenceMaskParams, ins: list[NDArray]) -> str | None:
    if not p.use_sequence_length:
        return need_bytes(ins[0])
    return need_kind(ins[1]) or need_float32(ins[0])


def compute_ex(ctx: OpContext, p: SequenceMaskParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, stream = ins[0], ctx.stream
    if not p.use_sequence_length:
        reshape(ctx, data, outs[0])
        return
    x, ends = get_default(data, stream), get_bytes(ins[1], stream)
    with outs[0].open(x.desc, stream, inplace_of=x) as y:
        ctx.kernel(kernels.sequence_mask(
            out=y, data=x, lengths=ends, rows=data.shape[0], columns=data.shape[1],
            width=prod(data.shape[2:]), steps_axis=p.axis, kind=kind_of(ins[1].dtype) or 0,
            value=p.value))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: SequenceMaskParams = node.params
    made = emit("SequenceMask", {"use_sequence_length": p.use_sequence_length, "axis": p.axis},
                out_grads[0], *node.inputs[1:])[0]
    return [made, *(emit.zeros_like(entry) for entry in node.inputs[1:])]


register(OpDef("SequenceMask", SequenceMaskParams, inputs=input_names, infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, inplace={0: 0},
               doc="data with everything behind the end of each sequence set to value.\n\n"
                   "data (steps, batch, ...), with axis=1 (batch, steps, ...); sequence_length "
                   "(batch,) of any dtype, floats cut off towards zero. Shape and dtype are those "
                   "of data. Source: MXNet's SequenceMask."))
