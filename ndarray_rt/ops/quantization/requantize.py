"""_contrib_dequantize, _contrib_requantize: whole numbers as floats, and sums as 8 bits again."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT32, UINT8
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge
from ...op.params import Params, choice, params_class
from ...op.registry import OpDef, register
from . import native
from .quantize import OUTPUTS, RANGE, CalibratedParams, infer_shape
from .ranges import (
    BYTES,
    HALF_OVER,
    WHOLE,
    ends_shape,
    factor_of,
    floats_type,
    need_dtype,
    one,
    ratio,
    scaled,
    value_of,
    widest,
    zero_gradients,
)


@params_class
class DequantizeParams(Params):
    out_type: str = choice("float32", default="float32", doc="dtype of the output")


def infer_shape_dequantize(p: DequantizeParams, ins: ShapeList, outs: ShapeList,
                           ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and the output")
    return [data, *ends_shape(ins[1:], RANGE)], [data]


def infer_type_dequantize(p: DequantizeParams, ins: TypeList, outs: TypeList,
                          ) -> tuple[TypeList, TypeList]:
    return ([need_dtype(ins[0], BYTES, "data"), *floats_type(ins[1:], RANGE)],
            floats_type(outs, ("the output",)))


def compute_dequantize(ctx: OpContext, p: DequantizeParams, ins: list[AnyArray],
                       outs: list[NumpyOutput]) -> None:
    step = ratio(widest(*map(value_of, ins[1:])), HALF_OVER[ins[0].dtype])
    with np.errstate(all="ignore"):
        outs[0].write(ins[0].astype(FLOAT32) * step)


def compute_ex_dequantize(ctx: OpContext, p: DequantizeParams, ins: list[NDArray],
                          outs: list[Output]) -> None:
    native.dequantize(ctx, ins[0], ins[1:], outs[0])


def infer_type(p: CalibratedParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    made = need_dtype(outs[0], (p.dtype,), "the output")
    return ([need_dtype(ins[0], (INT32,), "data"), *floats_type(ins[1:], RANGE)],
            [made, *floats_type(outs[1:], OUTPUTS[1:])])


def requantized(p: CalibratedParams, sums: AnyArray, ends: tuple[np.float32, np.float32],
                ) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Numbers of 8 bits and their range, of int32 sums; `ends`: what -2^31 and 2^31 stand for."""
    given = widest(*ends)
    if p.calibrated is None:
        x = sums.astype(np.int64)
        most = max(-int(x.min(initial=0)), int(x.max(initial=0)))
        # a step first: the product of both may be beyond float32
        with np.errstate(all="ignore"):
            wanted = np.float32(np.float32(most) * ratio(given, HALF_OVER[INT32]))
    else:
        wanted = widest(*p.calibrated)
    with np.errstate(all="ignore"):
        scale = ratio(given, HALF_OVER[INT32]) * factor_of(WHOLE[p.dtype], wanted)
    low = one(0 if p.dtype == UINT8 else -wanted)
    return scaled(sums, scale, p.dtype), low, one(wanted)


def compute(ctx: OpContext, p: CalibratedParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    ends = value_of(ins[1]), value_of(ins[2])
    for out, value in zip(outs, requantized(p, ins[0], ends), strict=True):
        out.write(value)


def compute_ex(ctx: OpContext, p: CalibratedParams, ins: list[NDArray], outs: list[Output],
               ) -> None:
    known = p.calibrated
    wanted = native.extent(ctx, ins[0]) if known is None else widest(*known)
    scale = native.requantize_range(ctx, native.ends_of(ins[1:], ctx), wanted,
                                         WHOLE[p.dtype], p.dtype != UINT8, outs)
    native.to_bytes(ctx, ins[0], outs[0], scale)


register(OpDef(
    "_contrib_dequantize", DequantizeParams, inputs=("data", *RANGE),
    infer_shape=infer_shape_dequantize, infer_type=infer_type_dequantize,
    compute=compute_dequantize, compute_ex=compute_ex_dequantize, gradient=zero_gradients,
    doc="Whole numbers of 8 bits as float32.\n\n"
        "data of any shape, int8 or uint8; min_range and max_range (1,), what it stands for. The "
        "output is data times the greater absolute value of the range, by 127.5 (int8) or 255.5 "
        "(uint8). For inference: gradients are 0. Source: MXNet's _contrib_dequantize."))
register(OpDef(
    "_contrib_requantize", CalibratedParams, inputs=("data", *RANGE), outputs=OUTPUTS,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute, compute_ex=compute_ex,
    gradient=zero_gradients,
    doc="int32 sums as whole numbers of 8 bits.\n\n"
        "data of any shape, int32; min_range and max_range (1,), what -2^31 and 2^31 stand for. "
        "The output stands for the calibrated range, or for that of data itself; then its range "
        "(1,), (1,): around 0 of int8, from 0 of uint8. For inference: gradients are 0. Source: "
        "MXNet's _contrib_requantize."))
