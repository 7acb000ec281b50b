"""_fused_rounded_conv, _fused_rounded_dense: layers on 8-bit data with rounded parameters, and what
follows their sums while these are in cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, INT32, DType, find_dtype
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge
from ...op.params import boolean, choice, number, params_class
from ...op.registry import OpDef, Shape, register
from ...storage.desc import channels_last_desc, default_desc
from ...storage.kernels import bytes as kernels
from ..nn import convolution, fully_connected
from ..nn.convolution import ConvolutionParams
from ..nn.fully_connected import FullyConnectedParams
from ..quantization import layers, native, whole_sums
from ..quantization.ranges import BYTES, ends_shape, need_dtype, rounded, value_of
from ..quantization.whole_layers import scale_of
from ..quantization.whole_sums import Bend, Finish
from ..tensor.places import can_add
from .part_of_layer import PartParams

SUM = ("sum", "sum_min", "sum_max")
Sums = Callable[[Any, list[AnyArray], Shape], AnyArray]


@params_class
class BentParams(PartParams):
    """What follows sums. Functions of them are as `Bend`; the first one is before the summand."""

    with_sum: bool = boolean(False, doc="8-bit numbers with a range are added")
    first_slope: float = number(1.0, doc="factor of what is below 0, before the summand")
    first_low: float = number(-math.inf, doc="lower bound before the summand")
    first_high: float = number(math.inf, doc="upper bound before the summand")
    last_slope: float = number(1.0, doc="factor of what is below 0")
    last_low: float = number(-math.inf, doc="lower bound")
    last_high: float = number(math.inf, doc="upper bound")

    @property
    def bends(self) -> tuple[Bend, Bend]:
        return (Bend(self.first_slope, self.first_low, self.first_high),
                Bend(self.last_slope, self.last_low, self.last_high))


@params_class
class RoundedParams(BentParams):
    """What becomes of the sums of a layer."""

    out_type: str = choice("int8", "uint8", "int32", "float32",
                           doc="dtype of the output; int32: the sums with the bias")
    out_scale: float = number(1.0, doc="what the output's floats are multiplied by")

    @property
    def dtype(self) -> DType:
        """The output's."""
        return find_dtype(self.out_type)

    @property
    def is_scaled(self) -> bool:
        return self.out_type != "int32"


@params_class
class RoundedConvParams(ConvolutionParams, RoundedParams):
    pass


@params_class
class RoundedDenseParams(FullyConnectedParams, RoundedParams):
    pass


def input_names(p: Any) -> tuple[str, ...]:
    return (*layers.arrays(p), *(("scale",) if p.is_scaled else ()), *(SUM if p.with_sum else ()))


def inplace(p: Any) -> Mapping[int, int]:
    """A result may replace the summand."""
    return {0: input_names(p).index(SUM[0])} if p.with_sum else {}


def infer_type(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    wanted = {"data": BYTES, "weight": (INT8,), "sum": BYTES,
              "bias": (FLOAT32 if p.is_scaled else INT32,)}
    made = [need_dtype(dtype, wanted.get(name, (FLOAT32,)), name)
            for dtype, name in zip(ins, input_names(p), strict=True)]
    return made, [need_dtype(outs[0], (p.dtype,), "the output")]


def with_others(rule: Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]],
                ) -> Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]]:
    """The shape rule of a layer whose arrays are followed by a scale and a summand."""
    def infer_shape(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        count = len(layers.arrays(p))
        made, results = rule(p, ins[:count], outs)
        # (1,) or one for each column, which only the array itself tells
        scale, weight = ins[count:count + p.is_scaled], made[1]
        if scale and known(scale[0]) and weight is not None and known(weight) and (
                scale[0] not in ((1,), weight[:1])):
            raise ShapeError(f"scale has shape {scale[0]}, expected (1,) or {weight[:1]}, which "
                             f"is implied by weight {weight}")
        if not p.with_sum:
            return [*made, *scale], results
        summand, *ends = ins[count + len(scale):]
        summand = merge(summand, results[0], "shapes of the summand and the output")
        return [*made, *scale, summand, *ends_shape(ends, SUM[1:])], results
    return infer_shape


# ---- in NumPy -----------------------------------------------------------------------------------


def bent(x: AnyArray, bend: Bend) -> AnyArray:
    """In float32."""
    slope, low, high = (np.float32(value) for value in bend)
    x = np.where(x < 0, x * slope, x) if slope != 1 else x
    made: AnyArray = np.minimum(np.maximum(x, low), high)
    return made


def computing(sums_of: Sums, channel_axis: int) -> Callable[..., None]:
    def compute(ctx: OpContext, p: Any, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
        given = dict(zip(input_names(p), ins, strict=True))
        column = [1] * len(outs[0].shape)
        column[channel_axis] = -1
        sums = sums_of(p, ins, outs[0].shape)
        bias = None if p.no_bias else given["bias"].reshape(column)
        if not p.is_scaled:
            outs[0].write(sums if bias is None else layers.plus_bias(sums, bias))
            return
        first, last = p.bends
        with np.errstate(all="ignore"):
            y = sums.astype(FLOAT32)
            if bias is not None:
                y = y + bias
            y = bent(y * given["scale"].reshape(column), first)
            if p.with_sum:
                y = y + given["sum"].astype(FLOAT32) * summand_scale(p, given)
            y = bent(y, last)
        outs[0].write(y if p.dtype == FLOAT32 else rounded(y, p.dtype))
    return compute


def summand_scale(p: Any, given: dict[str, AnyArray]) -> np.float32:
    """What the summand is multiplied by."""
    own = scale_of(given["sum"].dtype, value_of(given["sum_min"]), value_of(given["sum_max"]))
    made: np.float32 = np.float32(p.out_scale) / own
    return made


# ---- native -------------------------------------------------------------------------------------


def refuses_conv(p: RoundedConvParams, ins: list[NDArray]) -> str | None:
    return whole_sums.refuses_conv(p, ins) or refuses_scale(p, ins)


def refuses_dense(p: RoundedDenseParams, ins: list[NDArray]) -> str | None:
    return whole_sums.refuses_empty(p, ins) or refuses_scale(p, ins)


def refuses_scale(p: Any, ins: list[NDArray]) -> str | None:
    scale = ins[len(layers.arrays(p))].shape if p.is_scaled else (1,)
    return None if scale in ((1,), ins[1].shape[:1]) else f"scales of shape {scale}"


def finish_of(ctx: OpContext, p: Any, ins: list[NDArray], layout: Any) -> Finish:
    given = dict(zip(input_names(p), ins, strict=True))
    if not p.is_scaled:
        return whole_sums.SUMS
    scale = get_default(given["scale"], ctx.stream)
    is_one = given["scale"].shape == (1,) and given["weight"].shape[0] > 1
    shift = None if p.no_bias else get_default(given["bias"], ctx.stream)
    added, times = None, None
    if p.with_sum:
        summand = given["sum"]
        times = native.number(ctx)
        low, high = native.ends_of([given[end] for end in SUM[1:]], ctx)
        ctx.kernel(kernels.added_scale(scale=times, low=low, high=high, out_scale=p.out_scale,
                                       is_signed=summand.dtype == INT8))
        added = get_data_reorder(summand, layout(summand.dtype, summand.shape), ctx.stream)
    first, last = p.bends
    return Finish(scale=scale if is_one else None, scales=None if is_one else scale, shift=shift,
                  first=first, added=added, added_scale=times, last=last)


def compute_ex_conv(ctx: OpContext, p: RoundedConvParams, ins: list[NDArray], outs: list[Output],
                    ) -> None:
    can_add(outs[0])
    bias = None if p.no_bias or p.is_scaled else get_default(ins[2], ctx.stream)
    whole_sums.write_conv(ctx, p, ins[0], ins[1], bias, outs[0],
                          finish_of(ctx, p, ins, channels_last_desc))


def compute_ex_dense(ctx: OpContext, p: RoundedDenseParams, ins: list[NDArray],
                     outs: list[Output]) -> None:
    can_add(outs[0])
    bias = None if p.no_bias or p.is_scaled else get_default(ins[2], ctx.stream)
    whole_sums.write_dense(ctx, p, ins[0], ins[1], bias, outs[0],
                           finish_of(ctx, p, ins, default_desc))


BEHIND = (" of 8-bit data with parameters of _round_layer or _round_dense.\n\n"
          "data int8 or uint8, weight int8. The output is int32, the sums with an int32 bias, or: "
          "a float32 bias is added, sums are multiplied by scale, (1,) or one of each column, bent "
          "(what is below 0 times a slope, bounds), sum, int8 or uint8 of the output's shape with "
          "a range, is added, and that is bent again and rounded to int8 or uint8, or float32. "
          "Made by passes.")

register(OpDef(
    "_fused_rounded_conv", RoundedConvParams, inputs=input_names,
    infer_shape=with_others(convolution.infer_shape), infer_type=infer_type,
    compute=computing(layers.conv_products, 1), compute_ex=compute_ex_conv, refuses=refuses_conv,
    inplace=inplace, is_fused=True, no_gradient="it is for inference", flops=convolution.flops,
    doc="Convolution" + BEHIND))
register(OpDef(
    "_fused_rounded_dense", RoundedDenseParams, inputs=input_names,
    infer_shape=with_others(fully_connected.infer_shape), infer_type=infer_type,
    compute=computing(layers.dense_products, -1), compute_ex=compute_ex_dense,
    refuses=refuses_dense, inplace=inplace, is_fused=True, no_gradient="it is for inference",
    flops=fully_connected.flops, doc="Linear transformation" + BEHIND))
