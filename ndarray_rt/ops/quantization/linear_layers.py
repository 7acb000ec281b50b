"""Convolutions and dense layers over 8-bit numbers with zero points, as ONNX's QLinearConv."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, INT32, DType, find_dtype
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.params import Params, choice, integer, params_class
from ...op.registry import OpDef, Shape, register
from ..blas import uses_blas
from ..nn import convolution, fully_connected
from ..nn.conv_geometry import conv_forward
from ..nn.convolution import ConvolutionParams
from ..nn.fully_connected import FullyConnectedParams, matrix
from ..nn.shape_rules import expect
from ..tensor.places import can_add
from . import whole_sums
from .layers import arrays, plus_bias, wrapped
from .linear import DATA, narrowed, need_bounds, need_byte
from .ranges import BYTES, need_dtype
from .whole_sums import Linear


@params_class
class LinearParams(Params):
    """Zero points, and what the sums become."""

    zero: int = integer(0, low=-128, high=255, doc=DATA)
    out_type: str = choice("int8", "uint8", "float32", "int32", default="uint8",
                           doc="dtype of the output")
    out_zero: int = integer(0, low=-128, high=255, doc="the number of the output, int8 or uint8, "
                                                       "that stands for 0")
    low: int = integer(0, low=-128, high=255, doc="the least number of the output")
    high: int = integer(255, low=-128, high=255, doc="the greatest number of the output")

    @property
    def dtype(self) -> DType:
        return find_dtype(self.out_type)

    @property
    def has_factors(self) -> bool:
        return self.out_type != "int32"


@params_class
class LinearConvParams(ConvolutionParams, LinearParams):
    pass


@params_class
class LinearDenseParams(FullyConnectedParams, LinearParams):
    pass


LayerParams = LinearConvParams | LinearDenseParams


def filters(p: LayerParams) -> int:
    return p.num_filter if isinstance(p, LinearConvParams) else p.num_hidden


def input_names(p: LayerParams) -> tuple[str, ...]:
    return (*arrays(p), *(("factor",) if p.has_factors else ()))


def with_factor(rule: Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]],
                ) -> Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]]:
    """The shape rule of a layer whose arrays are followed by a factor of each filter."""
    def infer_shape(p: LayerParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
        count = len(arrays(p))
        made, results = rule(p, ins[:count], outs)
        more = [expect(shape, (filters(p),), "factor", "there is one for each filter")
                for shape in ins[count:]]
        return [*made, *more], results
    return infer_shape


def infer_type(p: LayerParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    kinds = {"data": BYTES, "weight": (INT8,), "bias": (INT32,), "factor": (FLOAT32,)}
    made = [need_dtype(dtype, kinds[name], name)
            for dtype, name in zip(ins, input_names(p), strict=True)]
    need_byte(p.zero, made[0], "zero")
    if p.dtype in BYTES:
        need_bounds(p, p.dtype)
    return made, [need_dtype(outs[0], (p.dtype,), "the output")]


def conv_sums(p: LinearConvParams, x: AnyArray, weight: AnyArray, shape: Shape) -> AnyArray:
    return conv_forward(x, weight, p.geometry(), shape[2:])


@uses_blas
def dense_sums(p: LinearDenseParams, x: AnyArray, weight: AnyArray, shape: Shape) -> AnyArray:
    made: AnyArray = (x.reshape(matrix(p, x.shape)) @ weight.T).reshape(shape)
    return made


def _operator(name: str, params: type[Params], rule: Any, sums: Callable[..., AnyArray],
              write: Callable[..., None], refuses: Any, **more: Any) -> OpDef:
    def compute(ctx: OpContext, p: Any, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
        made = wrapped(sums(p, ins[0].astype(np.float64) - p.zero, ins[1].astype(np.float64),
                            outs[0].shape))
        column = (-1, *(1,) * (made.ndim - 2)) if isinstance(p, LinearConvParams) else (-1,)
        if not p.no_bias:
            made = plus_bias(made, ins[2].reshape(column))
        if not p.has_factors:
            outs[0].write(made)
            return
        with np.errstate(all="ignore"):
            steps = made.astype(FLOAT32) * ins[-1].reshape(column)
            outs[0].write(steps if p.dtype == FLOAT32 else
                          narrowed(steps, p.out_zero, p.low, p.high, p.dtype))

    def compute_ex(ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output]) -> None:
        can_add(outs[0])
        factors = get_default(ins[-1], ctx.stream) if p.has_factors else None
        bounds = (p.out_zero, p.low, p.high) if p.dtype in BYTES else ()
        write(ctx, p, ins[0], ins[1], None if p.no_bias else ins[2], outs[0],
              Linear(p.zero, factors, *bounds))
    return OpDef(name, params, inputs=input_names, infer_shape=with_factor(rule),
                 infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
                 is_fused=True, no_gradient="it is for inference", **more)


BEHIND = ("; then the factor (filters,) of each filter, float32. data less its zero point is "
          "multiplied with weight and summed in int32, bias is added up to the ends of int32, and "
          "the sum times the factor is rounded, halves to even, plus the zero point of the output "
          "within bounds; as float32 it is not rounded, as int32 there is no factor. ")

register(_operator(
    "_qlinear_conv", LinearConvParams, convolution.infer_shape, conv_sums,
    whole_sums.write_linear_conv, whole_sums.refuses_conv, flops=convolution.flops,
    doc="Convolution of 8-bit numbers with zero points.\n\n"
        "data (N, C, *spatial), int8 or uint8, which is padded with its zero point, weight "
        "(num_filter, C / num_group, *kernel), int8, and bias (num_filter,), int32" + BEHIND
        + "Source: ONNX's QLinearConv."))
register(_operator(
    "_qlinear_fully_connected", LinearDenseParams, fully_connected.infer_shape, dense_sums,
    whole_sums.write_linear_dense, whole_sums.refuses_empty, flops=fully_connected.flops,
    doc="Linear transformation of 8-bit numbers with zero points.\n\n"
        "data as in FullyConnected, int8 or uint8, weight (num_hidden, features), int8, and bias "
        "(num_hidden,), int32" + BEHIND + "Source: ONNX's QLinearMatMul and QGemm."))
