"""Numbers of 8 bits with a scale and a zero point, as ONNX has them: to and from floats, sums, and
functions of one number as tables."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, UINT8, DType, find_dtype
from ...errors import ParameterError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge
from ...op.params import NoParams, Params, choice, integer, number, params_class
from ...op.registry import OpDef, register
from ...storage.kernels import affine as kernels
from ..nn.shape_rules import expect
from ..tensor.places import can_add
from . import native
from .ranges import BYTES, floats_type, need_dtype

DATA = "the number of data that stands for 0"


@params_class
class QuantizeLinearParams(Params):
    scale: float = number(finite=True, doc="what a step stands for")
    zero: int = integer(0, low=-128, high=255, doc="the whole number that stands for 0")
    out_type: str = choice("int8", "uint8", default="uint8", doc="dtype of the output")

    @property
    def dtype(self) -> DType:
        return find_dtype(self.out_type)


@params_class
class DequantizeLinearParams(Params):
    scale: float = number(finite=True, doc="what a step stands for")
    zero: int = integer(0, low=-128, high=255, doc=DATA)


@params_class
class SumParams(Params):
    left_scale: float = number(finite=True, doc="what a step of the left term is, in steps of the "
                                                "sum")
    right_scale: float = number(finite=True, doc="the same of the right term")
    left_zero: int = integer(0, low=-128, high=255, doc="the number of the left term that stands "
                                                        "for 0")
    right_zero: int = integer(0, low=-128, high=255, doc="the same of the right term")
    out_type: str = choice("int8", "uint8", default="uint8", doc="dtype of the output")
    out_zero: int = integer(0, low=-128, high=255, doc="the number of the sum that stands for 0")
    low: int = integer(0, low=-128, high=255, doc="the least number of the output")
    high: int = integer(255, low=-128, high=255, doc="the greatest number of the output")

    @property
    def dtype(self) -> DType:
        return find_dtype(self.out_type)


def need_byte(value: int, dtype: DType | None, name: str) -> None:
    """ParameterError for a number that the dtype, if it is known, does not hold."""
    if dtype is None:
        return
    info = np.iinfo(dtype)
    if not info.min <= value <= info.max:
        raise ParameterError(f"parameter {name!r} got {value}, expected {info.min} to {info.max} "
                             f"for {dtype}")


def need_bounds(p: object, dtype: DType) -> None:
    """ParameterError for a zero point or bounds of the output that its dtype does not hold."""
    for name in ("out_zero", "low", "high"):
        need_byte(getattr(p, name), dtype, name)
    low, high = (getattr(p, name) for name in ("low", "high"))
    if low > high:
        raise ParameterError(f"parameters 'low' and 'high' got {low} and {high}, expected no more "
                             "than the other")


def narrowed(x: AnyArray, zero: int, low: int, high: int, dtype: DType) -> AnyArray:
    """float32 steps as whole numbers: to the nearest, halves to even, plus the zero point, within
    bounds. NaN becomes 0."""
    whole = np.clip(np.rint(x), low - zero, high - zero) + zero
    made: AnyArray = np.where(np.isnan(whole), 0, whole).astype(dtype)
    return made


# ---- floats -------------------------------------------------------------------------------------


def same_shape(p: Params, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    shape = merge(ins[0], outs[0], "shapes of data and the output")
    return [shape, *ins[1:]], [shape]


def infer_type_quantize(p: QuantizeLinearParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    need_byte(p.zero, p.dtype, "zero")
    return floats_type(ins, ("data",)), [need_dtype(outs[0], (p.dtype,), "the output")]


def compute_quantize(ctx: OpContext, p: QuantizeLinearParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    info = np.iinfo(p.dtype)
    with np.errstate(all="ignore"):
        outs[0].write(narrowed(ins[0] / np.float32(p.scale), p.zero, info.min, info.max, p.dtype))


def compute_ex_quantize(ctx: OpContext, p: QuantizeLinearParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    can_add(outs[0])
    x = native.dense(ins[0], ctx)
    layout = native.layout_of(ins[0], ctx)
    with outs[0].open(layout(p.dtype, outs[0].shape), ctx.stream) as y:
        ctx.kernel(kernels.quantize_linear(out=y, data=x, n=ins[0].size, scale=p.scale,
                                           zero=float(p.zero), is_signed=p.dtype == INT8))


def infer_type_dequantize(p: DequantizeLinearParams, ins: TypeList, outs: TypeList,
                          ) -> tuple[TypeList, TypeList]:
    data = need_dtype(ins[0], BYTES, "data")
    need_byte(p.zero, data, "zero")
    return [data], floats_type(outs, ("the output",))


def compute_dequantize(ctx: OpContext, p: DequantizeLinearParams, ins: list[AnyArray],
                       outs: list[NumpyOutput]) -> None:
    with np.errstate(all="ignore"):
        outs[0].write((ins[0].astype(FLOAT32) - np.float32(p.zero)) * np.float32(p.scale))


def compute_ex_dequantize(ctx: OpContext, p: DequantizeLinearParams, ins: list[NDArray],
                          outs: list[Output]) -> None:
    x = native.dense(ins[0], ctx)
    layout = native.layout_of(ins[0], ctx)
    with outs[0].open(layout(FLOAT32, outs[0].shape), ctx.stream) as y:
        ctx.kernel(kernels.dequantize_linear(out=y, data=x, n=ins[0].size, scale=p.scale,
                                             zero=float(p.zero), is_signed=ins[0].dtype == INT8))


# ---- sums and tables ----------------------------------------------------------------------------


def infer_shape_sum(p: SumParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    shape = merge(merge(ins[0], ins[1], "shapes of lhs and rhs"), outs[0],
                  "shapes of the terms and the output")
    return [shape, shape], [shape]


def infer_type_sum(p: SumParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    left, right = (need_dtype(dtype, BYTES, name)
                   for dtype, name in zip(ins, ("lhs", "rhs"), strict=True))
    need_byte(p.left_zero, left, "left_zero")
    need_byte(p.right_zero, right, "right_zero")
    need_bounds(p, p.dtype)
    return [left, right], [need_dtype(outs[0], (p.dtype,), "the output")]


def compute_sum(ctx: OpContext, p: SumParams, ins: list[AnyArray], outs: list[NumpyOutput],
                ) -> None:
    with np.errstate(all="ignore"):
        left = (ins[0].astype(FLOAT32) - np.float32(p.left_zero)) * np.float32(p.left_scale)
        right = (ins[1].astype(FLOAT32) - np.float32(p.right_zero)) * np.float32(p.right_scale)
        outs[0].write(narrowed(left + right, p.out_zero, p.low, p.high, p.dtype))


def compute_ex_sum(ctx: OpContext, p: SumParams, ins: list[NDArray], outs: list[Output]) -> None:
    can_add(outs[0])
    layout = native.layout_of(ins[0], ctx)
    x, y = (get_data_reorder(array, layout(array.dtype, array.shape), ctx.stream)
            for array in ins)
    with outs[0].open(layout(p.dtype, outs[0].shape), ctx.stream) as made:
        ctx.kernel(kernels.add_linear(
            out=made, left=x, right=y, n=ins[0].size, left_signed=ins[0].dtype == INT8,
            right_signed=ins[1].dtype == INT8, is_signed=p.dtype == INT8,
            left_scale=p.left_scale, left_zero=float(p.left_zero), right_scale=p.right_scale,
            right_zero=float(p.right_zero), zero=float(p.out_zero), low=float(p.low),
            high=float(p.high)))


def infer_shape_map(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and the output")
    return [data, expect(ins[1], (256,), "table", "it has a number for each byte")], [data]


def infer_type_map(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    made = need_dtype(ins[1] if outs[0] is None else outs[0], BYTES, "the output")
    return ([need_dtype(ins[0], BYTES, "data"),
             need_dtype(ins[1], BYTES if made is None else (made,), "table")], [made])


def compute_map(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[1][np.ascontiguousarray(ins[0]).view(UINT8)])


def compute_ex_map(ctx: OpContext, p: NoParams, ins: list[NDArray], outs: list[Output]) -> None:
    can_add(outs[0])
    x = native.dense(ins[0], ctx)
    layout = native.layout_of(ins[0], ctx)
    with outs[0].open(layout(outs[0].array.dtype, outs[0].shape), ctx.stream) as y:
        ctx.kernel(kernels.map_bytes(out=y, data=x, table=get_default(ins[1], ctx.stream),
                                     n=ins[0].size))


_operator = partial(OpDef, is_fused=True, no_gradient="it is for inference", per_sample=True)

register(_operator(
    "_quantize_linear", QuantizeLinearParams, inputs=("data",), infer_shape=same_shape,
    infer_type=infer_type_quantize, compute=compute_quantize, compute_ex=compute_ex_quantize,
    doc="float32 by the scale, rounded, halves to even, plus the zero point, within what 8 bits "
        "hold.\n\ndata of any shape, float32; the output is int8 or uint8. NaN becomes 0. "
        "Source: ONNX's QuantizeLinear."))
register(_operator(
    "_dequantize_linear", DequantizeLinearParams, inputs=("data",), infer_shape=same_shape,
    infer_type=infer_type_dequantize, compute=compute_dequantize,
    compute_ex=compute_ex_dequantize,
    doc="Numbers of 8 bits less the zero point, times the scale.\n\ndata of any shape, int8 or "
        "uint8; the output is float32. Source: ONNX's DequantizeLinear."))
register(_operator(
    "_qlinear_add", SumParams, inputs=("lhs", "rhs"), infer_shape=infer_shape_sum,
    infer_type=infer_type_sum, compute=compute_sum, compute_ex=compute_ex_sum,
    doc="The sum of two arrays of 8-bit numbers, each less its zero point and times its scale, "
        "rounded, halves to even, plus a zero point, within bounds.\n\nlhs and rhs of one shape, "
        "int8 or uint8, and so is the output. Made of ONNX's Add between DequantizeLinear and "
        "QuantizeLinear."))
register(_operator(
    "_map_bytes", NoParams, inputs=("data", "table"), infer_shape=infer_shape_map,
    infer_type=infer_type_map, compute=compute_map, compute_ex=compute_ex_map,
    doc="The entry of a table for each byte.\n\ndata of any shape, int8 or uint8; table (256,), "
        "int8 or uint8, whose dtype the output has: int8 numbers below 0 are the places from 128 "
        "on. Made of functions of one number between ONNX's DequantizeLinear and QuantizeLinear."))
