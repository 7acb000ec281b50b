"""_contrib_arange_like: numbers in a row, as many as another array has elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import is_float
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, normalize_axis, same_type
from ...op.params import Params, integer, number, optional_integer, params_class, text
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import index as kernels
from .numeric import convert, scalar_of, wide_dtype


@params_class
class ArangeLikeParams(Params):
    start: float = number(0.0, finite=True, doc="first value")
    step: float = number(1.0, finite=True, doc="distance of values")
    repeat: int = integer(1, low=1, doc="how often each value appears")
    ctx: str = text("", doc="accepted and ignored")
    axis: int | None = optional_integer(doc="as many as data has along it; None: as all elements")


def infer_shape(p: ArangeLikeParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None:
        return ins, outs
    target = data if p.axis is None else (data[normalize_axis(p.axis, len(data))],)
    return ins, [merge(outs[0], target, "output shapes")]


def compute(ctx: OpContext, p: ArangeLikeParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    shape, dtype = outs[0].shape, outs[0].dtype
    made = wide_dtype(dtype) if is_float(dtype) else dtype
    at = (np.arange(int(np.prod(shape))) // p.repeat).astype(made)
    values = scalar_of(p.start, made) + at * scalar_of(p.step, made)
    outs[0].write(convert(values, dtype).reshape(shape))


def refuses(p: ArangeLikeParams, ins: list[NDArray]) -> str | None:
    return need_float32(ins[0])


def compute_ex(ctx: OpContext, p: ArangeLikeParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    desc = default_desc(outs[0].array.dtype, outs[0].shape)
    with outs[0].open(desc, ctx.stream) as y:
        ctx.kernel(kernels.arange(out=y, n=desc.nelems, repeat=p.repeat, start=p.start,
                                  step=p.step))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit.zeros_like(node.inputs[0])]


register(OpDef("_contrib_arange_like", ArangeLikeParams, inputs=("data",),
               infer_shape=infer_shape, infer_type=same_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, ignores=(0,),
               doc="start, start + step, ... in the shape of data, or in a row as long as one of "
                   "its axes.\n\nThe dtype is that of data, whose values are not read; the "
                   "gradient is zero. Source: MXNet's arange_like."))
