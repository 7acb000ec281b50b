"""_round_layer, _round_dense: parameters of layers as whole numbers, for layers on 8-bit data.

Made by passes of MXNet's fused layers, which round their weights whenever they run.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, INT32, DType, find_dtype
from ...errors import ParameterError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge
from ...op.params import boolean, choice, number, optional_number, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import bytes as kernels
from ...storage.stream import Mem
from ..quantization import native
from ..quantization.native import END, KINDS
from ..quantization.native import number as room
from ..quantization.ranges import (
    ends_shape,
    floats_type,
    need_dtype,
    one,
    value_of,
    widest,
)
from ..quantization.whole_layers import (
    Headroom,
    Whole,
    extent,
    folded,
    rescaled_layer,
    scale_of,
    whole_layer,
)
from ..tensor.pointwise import shifted
from .part_of_layer import PartParams

NORM = ("gamma", "beta", "mean", "var")
SUM_ENDS = ("sum_min", "sum_max")
# what -2^31 and 2^31 stand for in sums, and what floats are multiplied by to be sums
RANGE = ("low", "high", "steps")


@params_class
class RoundParams(PartParams):
    """What the layer gives: floats times `out_scale`, or int32 sums without it."""

    data_type: str = choice("int8", "uint8", doc="dtype of the layer's data")
    out_scale: float | None = optional_number(doc="what the layer's floats are multiplied by; "
                                                  "None: it gives int32 sums")
    with_steps: bool = boolean(False, doc="without out_scale: what floats are multiplied by to be "
                                          "sums is an output, too")
    no_bias: bool = boolean(False, doc="the layer has no bias")
    growth: float = number(1.0, doc="what follows int32 sums may multiply their bias by that")

    @property
    def data_dtype(self) -> DType:
        return find_dtype(self.data_type)

    @property
    def has_bias(self) -> bool:
        """There is a bias of whole numbers."""
        return not self.no_bias


@params_class
class RoundLayerParams(RoundParams):
    with_norm: bool = boolean(False, doc="batch normalization follows the layer")
    eps: float = number(1e-3, doc="added to the variance")
    fix_gamma: bool = boolean(True, doc="gamma counts as 1")
    from_zero: bool = boolean(False, doc="uint8 data whose range begins below 0 is refused")
    with_sum: bool = boolean(False, doc="8-bit numbers with a range are added to int32 sums")
    sum_growth: float = number(1.0, doc="what follows may multiply these by that")

    @property
    def has_bias(self) -> bool:
        return self.with_norm or not self.no_bias


def output_names(p: RoundParams) -> tuple[str, ...]:
    """An int32 bias where the layer gives sums, and what their ends stand for; else one of floats,
    which are whole, and a scale."""
    bias = ("bias",) if p.has_bias else ()
    if p.out_scale is not None:
        return ("weight", *bias, "scale")
    return ("weight", *bias, *RANGE[:2 + p.with_steps])


def types_made(p: RoundParams) -> list[DType]:
    whole = {"weight": INT8, "bias": INT32 if p.out_scale is None else FLOAT32}
    return [whole.get(name, FLOAT32) for name in output_names(p)]


def outputs_type(p: RoundParams, outs: TypeList) -> TypeList:
    return [need_dtype(out, (dtype,), name)
            for out, dtype, name in zip(outs, types_made(p), output_names(p), strict=True)]


def write(p: RoundParams, whole: Whole, data_scale: np.float32, ends: Any,
          outs: list[NumpyOutput]) -> None:
    outs[0].write(whole.weight)
    if whole.bias is not None:
        outs[1].write(whole.bias.astype(outs[1].dtype))
    if p.out_scale is not None:
        outs[-1].write(whole.factors(data_scale, np.float32(p.out_scale)))
        return
    if p.with_steps:
        ends = *ends, np.float32(data_scale * whole.scales[0])
    for out, value in zip(outs[1 + p.has_bias:], ends, strict=True):
        out.write(one(value))


# ---- weights of floats --------------------------------------------------------------------------


def input_names(p: RoundLayerParams) -> tuple[str, ...]:
    return ("data_min", "data_max", "weight", *(() if p.no_bias else ("bias",)),
            *(NORM if p.with_norm else ()), *(SUM_ENDS if p.with_sum else ()))


def infer_shape(p: RoundLayerParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    weight = merge(ins[2], outs[0], "shapes of the weights")
    rows = None if weight is None else weight[:1]
    count = len(ins) - 2 * p.with_sum
    vectors = [merge(shape, rows, "lengths of a vector and of the weights")
               for shape in ins[3:count]]
    bias = [merge(outs[1], rows, "lengths of the bias and of the weights")] if p.has_bias else []
    behind = outs[1 + p.has_bias:]
    last = ends_shape(behind, output_names(p)[-len(behind):]) if p.out_scale is None else [
        merge(behind[0], rows, "lengths of the scales and of the weights")]
    return ([*ends_shape(ins[:2], ("data_min", "data_max")), weight, *vectors,
             *ends_shape(ins[count:], SUM_ENDS[:len(ins) - count])],
            [weight, *bias, *last])


def infer_type(p: RoundLayerParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return floats_type(ins, input_names(p)), outputs_type(p, outs)


def compute(ctx: OpContext, p: RoundLayerParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    given = dict(zip(input_names(p), ins, strict=True))
    low, high = value_of(ins[0]), value_of(ins[1])
    if p.from_zero and p.data_type == "uint8" and low < 0:
        raise ParameterError(f"data is uint8 and has a range from {low}, expected one from 0: int8 "
                             "stands for numbers below 0")
    weight, bias = given["weight"], given.get("bias")
    if p.with_norm:
        weight, bias = folded(weight, bias, p, *(given[name] for name in NORM))
    summand = np.float32(0)
    if p.with_sum:
        summand = widest(*(value_of(given[end]) for end in SUM_ENDS)) * np.float32(p.sum_growth)
    data_scale = scale_of(p.data_dtype, low, high)
    whole = whole_layer(weight, bias, data_scale, p.out_scale is not None,
                        Headroom(p.growth, summand))
    ends = whole.ends(p.data_dtype, [*ins[:2], *extent(weight)])
    write(p, whole, data_scale, ends, outs)


def compute_ex(ctx: OpContext, p: RoundLayerParams, ins: list[NDArray], outs: list[Output]) -> None:
    given = {name: get_default(array, ctx.stream)
             for name, array in zip(input_names(p), ins, strict=True)}
    rows, is_signed = ins[2].shape[0], p.data_dtype == INT8
    bias, factors, added = given.get("bias"), None, None
    if p.with_norm:
        gamma, beta, mean, var = (given[name] for name in NORM)
        vector = default_desc(FLOAT32, (rows,))
        factors, shifts = ctx.stream.scratch(vector), ctx.stream.scratch(vector)
        ctx.kernel(kernels.layer_factors(
            factors=factors, shifts=shifts, gamma=None if p.fix_gamma else gamma, beta=beta,
            mean=mean, var=var, bias=bias, n=rows, epsilon=p.eps))
        bias = shifts
    if p.with_sum:
        added, (low, high) = room(ctx), (given[end] for end in SUM_ENDS)
        # by 1 it is the greatest number of a range
        ctx.kernel(kernels.dequantize_step(step=added, data_low=low, data_high=high, most=1.0))
    named = _made(ctx, p, outs)
    is_scaled = p.out_scale is not None
    ctx.kernel(kernels.round_layer(
        weight_out=named["weight"], bias_out=named.get("bias"), scale=named.get("scale"),
        range=named.get("low"), weight=given["weight"], factors=factors, bias=bias,
        data_low=given["data_min"], data_high=given["data_max"], added=added, rows=rows,
        width=prod(ins[2].shape[1:]), is_signed=is_signed, from_zero=p.from_zero,
        by_rows=is_scaled, kind=lib.NDRT_F32 if is_scaled else lib.NDRT_S32,
        out_scale=p.out_scale or 0.0, growth=p.growth, added_growth=p.sum_growth))
    native.put_all(ctx, list(named.values()), outs)


def _made(ctx: OpContext, p: RoundParams, outs: list[Output]) -> dict[str, Mem]:
    """Room for the outputs, by name; that of the range begins with its low end."""
    room_of = [ctx.stream.scratch(default_desc(out.array.dtype, out.shape)) for out in outs]
    named = dict(zip(output_names(p), room_of, strict=True))
    if p.out_scale is None:
        whole = ctx.stream.scratch(default_desc(FLOAT32, (len(RANGE),)))
        named |= {name: shifted(whole, i, END) for i, name in enumerate(RANGE) if name in named}
    return named


# ---- weights of int8 ----------------------------------------------------------------------------


def dense_names(p: RoundParams) -> tuple[str, ...]:
    return ("min_data", "max_data", "weight", "min_weight", "max_weight",
            *(() if p.no_bias else ("bias", "min_bias", "max_bias")))


def infer_shape_dense(p: RoundParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    names = dense_names(p)
    weight = merge(ins[2], outs[0], "shapes of the weights")
    made = [weight if name == "weight" else shape if name == "bias"
            else ends_shape([shape], [name])[0] for name, shape in zip(names, ins, strict=True)]
    results = [weight]
    if p.has_bias:
        rows = None if weight is None else weight[:1]
        bias = merge(merge(ins[5], outs[1], "lengths of the bias"), rows,
                     "lengths of the bias and of the weights")
        made[5] = bias
        results.append(bias)
    return made, [*results, *ends_shape(outs[len(results):], output_names(p)[len(results):])]


def infer_type_dense(p: RoundParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    made = [need_dtype(dtype, (INT8 if name in ("weight", "bias") else FLOAT32,), name)
            for dtype, name in zip(ins, dense_names(p), strict=True)]
    return made, outputs_type(p, outs)


def compute_dense(ctx: OpContext, p: RoundParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    given = dict(zip(dense_names(p), ins, strict=True))

    def ends(name: str) -> tuple[np.float32, np.float32]:
        return value_of(given[f"min_{name}"]), value_of(given[f"max_{name}"])
    data_scale = scale_of(p.data_dtype, *ends("data"))
    whole = rescaled_layer(given["weight"], ends("weight"), given.get("bias"),
                           ends("bias") if p.has_bias else None, data_scale, p.growth)
    write(p, whole, data_scale, whole.ends(p.data_dtype, [*ins[:2], *ins[3:5]]), outs)


def compute_ex_dense(ctx: OpContext, p: RoundParams, ins: list[NDArray], outs: list[Output],
                     ) -> None:
    given: dict[str, Mem] = {name: get_default(array, ctx.stream)
                             for name, array in zip(dense_names(p), ins, strict=True)}
    ratio, factor, named = room(ctx), room(ctx), _made(ctx, p, outs)
    ctx.kernel(kernels.dense_scales(
        ratio=ratio, factor=factor, scale=named.get("scale") or room(ctx), range=named.get("low"),
        data_low=given["min_data"], data_high=given["max_data"], weight_low=given["min_weight"],
        weight_high=given["max_weight"], bias_low=given.get("min_bias"),
        bias_high=given.get("max_bias"), is_signed=p.data_dtype == INT8,
        out_scale=p.out_scale or 0.0, growth=p.growth))
    parts = [("weight", ratio), *([("bias", factor)] if p.has_bias else [])]
    for out, (name, times) in zip(outs, parts, strict=False):
        ctx.kernel(kernels.round_away(out=named[name], data=given[name], factor=times,
                                      n=prod(out.shape), kind=KINDS[out.array.dtype]))
    native.put_all(ctx, list(named.values()), outs)


register(OpDef(
    "_round_layer", RoundLayerParams, inputs=input_names, outputs=output_names,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute, compute_ex=compute_ex,
    is_fused=True, no_gradient="it is for inference", is_prologue=True,
    ignores=lambda p: (3 + (not p.no_bias),) if p.with_norm and p.fix_gamma else (),
    doc="Weights of a layer and of batch normalization behind it as int8, for 8-bit data.\n\n"
        "data_min and data_max (1,): the range of the data; weight (rows, ...), the others "
        "(rows,); sum_min and sum_max (1,) with `with_sum`. The outputs are int8 weights, the bias "
        "in whole steps of the sums, which keeps away from the ends of int32, as float32, and "
        "scale (rows,), which brings sums to floats times out_scale. Without out_scale all weights "
        "have one scale, by which int32 holds the bias and the summand, the bias is int32, and "
        "(1,), (1,) is the range of int32 sums; steps (1,). Made by passes."))
register(OpDef(
    "_round_dense", RoundParams, inputs=dense_names, outputs=output_names,
    infer_shape=infer_shape_dense, infer_type=infer_type_dense, compute=compute_dense,
    compute_ex=compute_ex_dense, is_fused=True, no_gradient="it is for inference",
    is_prologue=True,
    doc="Weights and bias of int8 with ranges, for sums of products with 8-bit data.\n\n"
        "As _round_layer, of int8 weights, which are scaled down where the bias would come near to "
        "the ends of int32; scale is (1,). Made by passes."))
