"""_bend_sums: what follows the int32 sums of a layer whose output has no range of its own."""

from __future__ import annotations

import math

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, INT32
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge
from ...op.params import params_class
from ...op.registry import OpDef, register
from ...storage.kernels import bytes as kernels
from ..quantization import native
from ..quantization.ranges import BYTES, ends_shape, need_dtype, value_of
from ..quantization.whole_layers import scale_of, to_int32
from ..quantization.whole_sums import Bend
from ..tensor.places import can_add
from .rounded_layers import SUM, BentParams


@params_class
class BendSumsParams(BentParams):
    """Bounds are those of floats."""


def input_names(p: BendSumsParams) -> tuple[str, ...]:
    return ("data", "steps", *(SUM if p.with_sum else ()))


def infer_shape(p: BendSumsParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and the output")
    steps = ends_shape(ins[1:2], ("steps",))
    if not p.with_sum:
        return [data, *steps], [data]
    data = merge(data, ins[2], "shapes of the summand and the output")
    return [data, *steps, data, *ends_shape(ins[3:], SUM[1:])], [data]


def infer_type(p: BendSumsParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    wanted = {"data": (INT32,), "sum": BYTES}
    made = [need_dtype(dtype, wanted.get(name, (FLOAT32,)), name)
            for dtype, name in zip(ins, input_names(p), strict=True)]
    return made, [need_dtype(outs[0], (INT32,), "the output")]


def bent(y: AnyArray, bend: Bend, steps: np.float32) -> AnyArray:
    """Of float64 that stand for y / steps."""
    low, high = (bound if math.isinf(bound) else bound * float(steps) for bound in bend[1:])
    made: AnyArray = np.minimum(np.maximum(np.where(y < 0, y * bend.slope, y), low), high)
    return made


def compute(ctx: OpContext, p: BendSumsParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    given = dict(zip(input_names(p), ins, strict=True))
    steps = np.float32(given["steps"][0])
    first, last = p.bends
    with np.errstate(all="ignore"):
        y = bent(given["data"].astype(np.float64), first, steps)
        if p.with_sum:
            summand = given["sum"]
            own = scale_of(summand.dtype, value_of(given["sum_min"]), value_of(given["sum_max"]))
            y = y + summand.astype(np.float64) * np.float32(steps / own)
        outs[0].write(to_int32(bent(y, last, steps)))


def compute_ex(ctx: OpContext, p: BendSumsParams, ins: list[NDArray], outs: list[Output]) -> None:
    can_add(outs[0])
    given = dict(zip(input_names(p), ins, strict=True))
    data, layout = given["data"], native.layout_of(given["data"], ctx)
    x, steps = native.dense(data, ctx), get_default(given["steps"], ctx.stream)
    added = low = high = None
    if p.with_sum:
        summand = given["sum"]
        added = get_data_reorder(summand, layout(summand.dtype, summand.shape), ctx.stream)
        low, high = native.ends_of([given[end] for end in SUM[1:]], ctx)
    first, last = p.bends
    with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
        ctx.kernel(kernels.bend_sums(
            out=y, data=x, steps=steps, added=added, low=low, high=high, n=data.size,
            added_signed=p.with_sum and given["sum"].dtype == INT8,
            **first.named("first"), **last.named("last")))


register(OpDef(
    "_bend_sums", BendSumsParams, inputs=input_names, infer_shape=infer_shape,
    infer_type=infer_type, compute=compute, compute_ex=compute_ex, is_fused=True,
    no_gradient="it is for inference",
    doc="Functions and a summand behind the int32 sums of a layer.\n\n"
        "data int32 of any shape stands for data / steps, (1,); it is bent (what is below 0 times "
        "a slope, bounds of floats), sum, int8 or uint8 of its shape with a range, is added, and "
        "that is bent again, in float64, and rounded to int32. Made by passes."))
