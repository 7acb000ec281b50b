"""one_hot: rows that are off but for the place that a number names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_bytes
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import find_dtype, native_code
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.numbers import Domain
from ...op.params import Params, dtype, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import index as kernels
from .numeric import scalar_of
from .places import can_add, kind_of, need_kind, whole


@params_class
class OneHotParams(Params):
    depth: int = integer(low=0, doc="length of the new last axis")
    on_value: float = number(1.0, doc="the value at the place named")
    off_value: float = number(0.0, doc="the value at all others")
    dtype: str = dtype("float32", doc="dtype of the output")


def infer_shape(p: OneHotParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    indices, out = ins[0], outs[0]
    if out is not None and out:
        indices = merge(indices, out[:-1], "shapes of indices and output")
    if indices is not None:
        out = merge(out, (*indices, p.depth), "output shapes")
    return [indices], [out]


def infer_type(p: OneHotParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, [merge_types([find_dtype(p.dtype), outs[0]])]


def compute(ctx: OpContext, p: OneHotParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    given = outs[0].dtype
    on = whole(ins[0])[..., None] == np.arange(p.depth)
    outs[0].write(np.where(on, scalar_of(p.on_value, given), scalar_of(p.off_value, given)))


def refuses(p: OneHotParams, ins: list[NDArray]) -> str | None:
    if p.dtype not in ("float32", "int32"):
        return f"output of dtype {p.dtype}"
    if p.dtype == "int32" and not all(abs(v) < 2**31 for v in (p.on_value, p.off_value)):
        return "values beyond int32"
    return need_kind(ins[0])


def compute_ex(ctx: OpContext, p: OneHotParams, ins: list[NDArray], outs: list[Output]) -> None:
    indices, out, stream = ins[0], outs[0], ctx.stream
    can_add(out)
    at = get_bytes(indices, stream)
    with out.open(default_desc(out.array.dtype, out.shape), stream) as y:
        ctx.kernel(kernels.one_hot(
            out=y, places=at, count=indices.size, depth=p.depth, kind=kind_of(indices.dtype) or 0,
            dtype=native_code(out.array.dtype) or 0, on=p.on_value, off=p.off_value))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit.zeros_like(node.inputs[0])]


register(OpDef("one_hot", OneHotParams, inputs=("indices",), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, numbers=("on_value", "off_value"),
               domain=Domain(most=2.0**31 - 1),
               doc="A new last axis of length depth: on_value at the place that indices names, "
                   "off_value elsewhere.\n\nindices of any shape and dtype; floats are cut off "
                   "towards zero; a place beyond the axis is nowhere. The gradient is zero. "
                   "Source: MXNet's one_hot."))
