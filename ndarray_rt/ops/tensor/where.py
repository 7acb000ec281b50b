"""where: elements of one array or of another, as a condition says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_bytes, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, merge_all, merge_types
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import index as kernels
from .places import kind_of, need_kind


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    condition = ins[0]
    if not known(condition):
        # x and y have one shape, but what comes out is not said, as in MXNet
        either = merge_all(ins[1:], "shapes of x and y")
        return [condition, either, either], outs
    one = merge_all([*ins[1:], outs[0]], "shapes of x, y and output")
    if condition is not None and one is not None:
        by_row = len(condition) == 1 and len(one) > 1
        try:
            condition = merge(condition, one[:1] if by_row else one)
        except ShapeError:
            raise ShapeError(f"condition has shape {condition}, expected {one} or {one[:1]} from "
                             f"x {one}") from None
    return [condition, one, one], [one]


def infer_type(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[1:], outs[0]])
    return [ins[0], one, one], [one]


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    condition, x, y = ins
    if condition.ndim != x.ndim:
        condition = condition.reshape(-1, *(1,) * (x.ndim - 1))
    outs[0].write(np.where(condition != 0, x, y))


def refuses(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_kind(ins[0]) or need_float32(*ins[1:])


def compute_ex(ctx: OpContext, p: NoParams, ins: list[NDArray], outs: list[Output]) -> None:
    condition, stream = ins[0], ctx.stream
    chosen, x, y = [get_bytes(array, stream) for array in ins]
    desc = default_desc(ins[1].dtype, outs[0].shape)
    with outs[0].open(desc, stream) as out:
        ctx.kernel(kernels.where(
            out=out, condition=chosen, x=x, y=y, count=condition.size,
            width=desc.nelems // condition.size, kind=kind_of(condition.dtype) or 0))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    condition, dy = node.inputs[0], out_grads[0]
    zeros = emit.zeros_like(dy)
    return [emit.zeros_like(condition), emit("where", None, condition, dy, zeros)[0],
            emit("where", None, condition, zeros, dy)[0]]


register(OpDef("where", NoParams, inputs=("condition", "x", "y"), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient,
               doc="x where condition is not zero, else y.\n\nx, y and the output have one shape "
                   "and dtype; condition, of any dtype, has that shape, or one axis: then each "
                   "of its elements chooses a row. NaN is not zero. Source: MXNet's where."))
