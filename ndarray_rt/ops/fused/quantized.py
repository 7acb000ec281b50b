"""_quantized: numbers as they come back from whole numbers of a few bits."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, merge_types, normalize_axis
from ...op.params import Params, integer, params_class
from ...op.registry import OpDef, register
from ...storage.kernels.elementwise import quantized as kernel
from ..floats import need_float_types, wide
from ..tensor.pointwise import axis_order, unblocked, unpadded


@params_class
class QuantizedParams(Params):
    low: int = integer(0, low=-(1 << 15), high=1 << 16, doc="the least of the whole numbers")
    high: int = integer(255, low=-(1 << 15), high=1 << 16, doc="the greatest of them")
    axis: int = integer(1, doc="that scales are along, where there are several")


def infer_shape(p: QuantizedParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and the output")
    vector = merge(ins[1], ins[2], "shapes of scale and zero")
    if data is not None and vector is not None and known(data) and known(vector) and (
            vector != (1,)):
        axis = normalize_axis(p.axis, len(data), "axis")
        if vector != (data[axis],):
            raise ShapeError(f"scale has shape {vector}, expected (1,) or ({data[axis]},) from "
                             f"data {data}, axis={p.axis}")
    return [data, vector, vector], [data]


def infer_type(p: QuantizedParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, *outs])
    need_float_types([one])
    return [one] * 3, [one]


def compute(ctx: OpContext, p: QuantizedParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, scale, zero = (wide(value) for value in ins)
    if scale.size != 1:
        shape = [1] * x.ndim
        shape[p.axis] = scale.size
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    with np.errstate(all="ignore"):
        whole = np.rint(x / scale)
        kept = np.clip(whole, p.low - zero, p.high - zero)
        made = np.where(np.isnan(whole), -zero, kept) * scale
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def refuses(p: QuantizedParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: QuantizedParams, ins: list[NDArray], outs: list[Output]) -> None:
    stream, shape = ctx.stream, ins[0].shape
    layout = unpadded(unblocked(ins[0], stream).desc)
    dims = (1, 1, prod(shape))
    if ins[1].size != 1:
        order = axis_order(layout)
        at = order.index(p.axis % len(shape))
        dims = (prod(shape[axis] for axis in order[:at]), ins[1].size,
                prod(shape[axis] for axis in order[at + 1:]))
    x = get_data_reorder(ins[0], layout, stream)
    scale, zero = (get_default(array, stream) for array in ins[1:])
    with outs[0].open(layout, stream, inplace_of=x) as y:
        outer, channels, inner = dims
        ctx.kernel(kernel(out=y, data=x, scale=scale, zero=zero, outer=outer, channels=channels,
                          inner=inner, low=p.low, high=p.high))


register(OpDef("_quantized", QuantizedParams, inputs=("data", "scale", "zero"),
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, inplace={0: 0}, is_fused=True,
               no_gradient="it is for inference",
               doc="Numbers as they come back from whole numbers: (min(max(rint(data / scale) + "
                   "zero, low), high) - zero) * scale.\n\n"
                   "data of any shape, scale and zero (1,), or one for each place of an axis; zero "
                   "is whole. One float dtype. NaN becomes what the whole number 0 stands for. "
                   "Made of ONNX's QuantizeLinear and DequantizeLinear; a native kernel."))
