"""Sums of 8-bit numbers that become 8 bits again, and relu of that, before they are in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import INT32, UINT8
from ...op.context import OpContext
from ...op.infer import TypeList
from ...op.params import Params, boolean, number, params_class
from ...op.registry import InferShape, InferType, OpDef, Refuses, Shape, register
from ...storage.stream import Mem
from ..nn import convolution, fully_connected
from ..nn.convolution import ConvolutionParams
from ..nn.fully_connected import FullyConnectedParams
from ..quantization import elementwise, layers, native, whole_sums
from ..quantization.quantize import CalibratedParams
from ..quantization.ranges import WHOLE, need_dtype, widest
from ..quantization.requantize import requantized
from ..quantization.whole_sums import Finish, rectified

Ends = tuple[np.float32, np.float32]


@params_class
class RequantizedParams(CalibratedParams):
    """How sums become 8 bits."""

    min_calib_range: float = number(finite=True, doc="the least value, found by calibration")
    max_calib_range: float = number(finite=True, doc="the greatest value")
    rectify: bool = boolean(False, doc="relu is done to the result")


@params_class
class RequantizedConvParams(ConvolutionParams, RequantizedParams):
    pass


@params_class
class RequantizedDenseParams(FullyConnectedParams, RequantizedParams):
    pass


@dataclass(frozen=True)
class _Sums:
    """How the sums are computed: by NumPy with their range, and natively with one or the other."""

    compute: Callable[[Any, list[AnyArray], Shape], tuple[AnyArray, Ends]]
    write_range: Callable[[OpContext, Any, list[NDArray], Mem, Mem], object]
    write: Callable[[OpContext, Any, list[NDArray], Output, Finish, Any], None]


def _operator(name: str, params: type[Params], inputs: Any, infer_shape: InferShape,
              infer_type: InferType, sums: _Sums, refuses: Refuses | None, doc: str,
              **more: Any) -> OpDef:
    def infer_made(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
        given, (_, *ends) = infer_type(p, ins, [INT32, *outs[1:]])
        return given, [need_dtype(outs[0], (p.dtype,), "the output"), *ends]

    def compute(ctx: OpContext, p: Any, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
        whole, low, high = requantized(p, *sums.compute(p, ins, outs[0].shape))
        for out, value in zip(outs, (np.maximum(whole, 0) if p.rectify else whole, low, high),
                              strict=True):
            out.write(value)

    def compute_ex(ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output]) -> None:
        low, high = native.number(ctx), native.number(ctx)
        kept = sums.write_range(ctx, p, ins, low, high)
        is_signed = p.dtype != UINT8
        scale = native.requantize_range(ctx, (low, high), widest(*p.calibrated),
                                             WHOLE[p.dtype], is_signed, outs)
        sums.write(ctx, p, ins, outs[0], rectified(scale, p.rectify and is_signed), kept)
    return OpDef(name, params, inputs=inputs, outputs=layers.OUTPUTS, infer_shape=infer_shape,
                 infer_type=infer_made, compute=compute, compute_ex=compute_ex, refuses=refuses,
                 is_fused=True, no_gradient="it is for inference", doc=doc, **more)


def _write_conv(ctx: OpContext, p: Any, ins: list[NDArray], out: Output, finish: Finish,
                kept: object) -> None:
    whole_sums.write_conv(ctx, p, *whole_sums.conv_arrays(ctx, p, ins), out, finish)


def _write_dense(ctx: OpContext, p: Any, ins: list[NDArray], out: Output, finish: Finish,
                 kept: object) -> None:
    whole_sums.write_dense(ctx, p, *whole_sums.dense_arrays(ctx, p, ins), out, finish)


BEHIND = (", brought to 8 bits by a calibrated range as _contrib_requantize does, and with rectify "
          "relu of that; then the range.")

register(_operator(
    "_fused_quantized_conv", RequantizedConvParams, layers.input_names,
    layers.with_ranges(convolution.infer_shape), layers.infer_type,
    _Sums(layers.conv_sums, whole_sums.conv_range,
          _write_conv),
    whole_sums.refuses_conv, "_contrib_quantized_conv" + BEHIND, flops=convolution.flops))
register(_operator(
    "_fused_quantized_fully_connected", RequantizedDenseParams, layers.input_names,
    layers.with_ranges(fully_connected.infer_shape), layers.infer_type,
    _Sums(layers.dense_sums, whole_sums.dense_range,
          _write_dense),
    whole_sums.refuses_empty, "_contrib_quantized_fully_connected" + BEHIND,
    flops=fully_connected.flops))


def _sum_type(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return elementwise.infer_type_sum(elementwise.SumParams(), ins, outs)


def _sum(p: Any, ins: list[AnyArray], shape: Shape) -> tuple[AnyArray, Ends]:
    return elementwise.summed(elementwise.SumParams(), ins, INT32)


def _sum_range(ctx: OpContext, p: Any, ins: list[NDArray], low: Mem, high: Mem,
               ) -> tuple[Mem, Mem]:
    return native.sum_scales(ctx, ins, INT32, None, low, high)


def _write_sum(ctx: OpContext, p: Any, ins: list[NDArray], out: Output, finish: Finish,
               scales: tuple[Mem, Mem]) -> None:
    native.write_sum(ctx, ins, out, scales, finish.scale, finish.last.low == 0)


register(_operator(
    "_fused_quantized_elemwise_add", RequantizedParams, elementwise.PAIR,
    elementwise.infer_shape_pair, _sum_type, _Sums(_sum, _sum_range, _write_sum), None,
    "_contrib_quantized_elemwise_add in int32" + BEHIND))
