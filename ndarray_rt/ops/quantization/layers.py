"""_contrib_quantized_conv, _contrib_quantized_fully_connected: int32 sums of 8-bit products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import INT8, INT32
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.registry import OpDef, Shape, register
from ..blas import uses_blas
from ..nn import convolution, fully_connected
from ..nn.conv_geometry import conv_forward
from ..nn.convolution import ConvolutionParams
from ..nn.fully_connected import FullyConnectedParams, matrix
from . import whole_sums
from .ranges import (
    BYTES,
    HALF_OVER,
    ends_shape,
    floats_type,
    need_dtype,
    one,
    product_range,
    ratio,
    scale_of,
    value_of,
    widest,
    zero_gradients,
)

LayerParams = ConvolutionParams | FullyConnectedParams
OUTPUTS = ("output", "min_output", "max_output")
Ends = tuple[np.float32, np.float32]


def arrays(p: LayerParams) -> tuple[str, ...]:
    """Names of the inputs that are no ranges."""
    return ("data", "weight") if p.no_bias else ("data", "weight", "bias")


def input_names(p: LayerParams) -> tuple[str, ...]:
    names = arrays(p)
    return (*names, *(f"{end}_{name}" for name in names for end in ("min", "max")))


def with_ranges(rule: Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]],
                 ) -> Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]]:
    """The shape rule of a layer whose arrays are followed by ranges."""
    def infer_shape(p: LayerParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
        count = len(arrays(p))
        made, results = rule(p, ins[:count], outs[:1])
        return ([*made, *ends_shape(ins[count:], input_names(p)[count:])],
                [*results, *ends_shape(outs[1:], OUTPUTS[1:])])
    return infer_shape


def infer_type(p: LayerParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    names = input_names(p)
    count = len(arrays(p))
    weights = [need_dtype(dtype, (INT8,), name)
               for dtype, name in zip(ins[1:count], names[1:count], strict=True)]
    return ([need_dtype(ins[0], BYTES, "data"), *weights, *floats_type(ins[count:], names[count:])],
            [need_dtype(outs[0], (INT32,), "the output"), *floats_type(outs[1:], OUTPUTS[1:])])


def wrapped(sums: AnyArray) -> AnyArray:
    """Whole float64 numbers as int32, as sums of int32 come round."""
    return sums.astype(np.int64).astype(np.int32)


def plus_bias(sums: AnyArray, bias: AnyArray) -> AnyArray:
    """int32 sums and a bias in their steps: an end of int32 where it can not hold what they make.
    """
    ends = np.iinfo(np.int32)
    made: AnyArray = np.clip(sums.astype(np.int64) + bias, ends.min, ends.max).astype(np.int32)
    return made


def write_range(outs: Sequence[NumpyOutput], ends: tuple[Any, Any]) -> None:
    for out, end in zip(outs[1:], ends, strict=True):
        out.write(one(end))


def conv_products(p: ConvolutionParams, ins: list[AnyArray], shape: Shape) -> AnyArray:
    """int32 sums of that shape, without a bias."""
    return wrapped(conv_forward(ins[0].astype(np.float64), ins[1].astype(np.float64), p.geometry(),
                                shape[2:]))


@uses_blas
def dense_products(p: FullyConnectedParams, ins: list[AnyArray], shape: Shape) -> AnyArray:
    """The same of rows."""
    rows = ins[0].reshape(matrix(p, ins[0].shape)).astype(np.float64)
    return wrapped(rows @ ins[1].astype(np.float64).T).reshape(shape)


def conv_sums(p: ConvolutionParams, ins: list[AnyArray], shape: Shape) -> tuple[AnyArray, Ends]:
    """int32 sums of that shape and what -2^31 and 2^31 stand for."""
    sums = conv_products(p, ins, shape)
    if not p.no_bias:
        sums = plus_bias(sums, ins[2].reshape(-1, *(1,) * len(p.kernel)))
    # MXNet tells the range of int8 products for uint8 data too
    return sums, product_range(INT8, ins[len(arrays(p)):])


def dense_sums(p: FullyConnectedParams, ins: list[AnyArray], shape: Shape,
               ) -> tuple[AnyArray, Ends]:
    """The same of rows."""
    count, kind = len(arrays(p)), ins[0].dtype
    sums = dense_products(p, ins, shape)
    if not p.no_bias:
        sums = plus_bias(sums, bias_in_sums(ins[2], kind, ins[count:]))
    return sums, product_range(kind, ins[count:])


def compute_conv(ctx: OpContext, p: ConvolutionParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    sums, ends = conv_sums(p, ins, outs[0].shape)
    outs[0].write(sums)
    write_range(outs, ends)


def compute_dense(ctx: OpContext, p: FullyConnectedParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    sums, ends = dense_sums(p, ins, outs[0].shape)
    outs[0].write(sums)
    write_range(outs, ends)


def bias_in_sums(bias: AnyArray, data: Any, ends: Sequence[AnyArray]) -> AnyArray:
    """An int8 bias in the steps of the sums, in int64: cut off towards 0, and at the ends of int32.

    `ends` are min and max of data, weight and bias. 0 stays 0, also in steps of 0.
    """
    low = [value_of(end) for end in ends]
    with np.errstate(all="ignore"):
        step = np.float32(scale_of(data, low[0], low[1]) * scale_of(INT8, low[2], low[3]))
        step = ratio(step * widest(low[4], low[5]), HALF_OVER[INT8])
        whole = np.trunc(bias.astype(np.float32) * step).astype(np.float64)
    limits = np.iinfo(np.int32)
    made: AnyArray = np.clip(np.nan_to_num(whole, nan=0), limits.min, limits.max).astype(np.int64)
    return made


register(OpDef(
    "_contrib_quantized_conv", ConvolutionParams, inputs=input_names, outputs=OUTPUTS,
    infer_shape=with_ranges(convolution.infer_shape), infer_type=infer_type,
    compute=compute_conv, compute_ex=whole_sums.compute_conv, refuses=whole_sums.refuses_conv,
    gradient=zero_gradients, flops=convolution.flops,
    doc="Convolution of 8-bit numbers, in int32.\n\n"
        "data (N, C, *spatial), int8 or uint8, weight (num_filter, C / num_group, *kernel) and "
        "bias (num_filter,), int8; then min and max (1,) of each. The output (N, num_filter, *out) "
        "is the sum of products, to which bias is added as it is, up to the ends of int32; then "
        "what -2^31 and 2^31 stand for, (1,), (1,), as MXNet tells it: of int8 data. For "
        "inference: gradients are 0. Source: MXNet's _contrib_quantized_conv."))
register(OpDef(
    "_contrib_quantized_fully_connected", FullyConnectedParams, inputs=input_names,
    outputs=OUTPUTS, infer_shape=with_ranges(fully_connected.infer_shape),
    infer_type=infer_type, compute=compute_dense, compute_ex=whole_sums.compute_dense,
    refuses=whole_sums.refuses_empty, gradient=zero_gradients,
    flops=fully_connected.flops,
    doc="Linear transformation of 8-bit numbers, in int32.\n\n"
        "data as in FullyConnected, int8 or uint8, weight (num_hidden, features) and bias "
        "(num_hidden,), int8; then min and max (1,) of each. The output is data times the "
        "transpose of weight, plus bias in the steps of the sums, up to the ends of int32; then "
        "what -2^31 and 2^31 stand for, (1,), (1,). For inference: gradients are 0. Source: "
        "MXNet's _contrib_quantized_fully_connected."))
