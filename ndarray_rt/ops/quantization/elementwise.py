"""Sums and products of two arrays of 8-bit numbers, relu and flatten of one."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, INT32, DType
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, same_shape
from ...op.params import NoParams, Params, boolean, choice, optional_number, params_class
from ...op.registry import OpDef, register
from . import native, whole_sums
from .ranges import (
    BYTES,
    HALF_OVER,
    WHOLE,
    ends_shape,
    factor_of,
    floats_type,
    need_dtype,
    one,
    product_range,
    ratio,
    rounded,
    scale_of,
    value_of,
    widest,
    zero_gradients,
)

OUTPUTS = ("output", "min_output", "max_output")
PAIR = ("lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max")
RANGE = ("min_data", "max_data")


@params_class
class SumParams(Params):
    min_calib_range: float | None = optional_number(
        finite=True, doc="the least value, found by calibration")
    max_calib_range: float | None = optional_number(finite=True, doc="the greatest value")

    @property
    def calibrated(self) -> tuple[np.float32, np.float32] | None:
        """The range of the output, where both ends are given."""
        low, high = self.min_calib_range, self.max_calib_range
        return None if low is None or high is None else (np.float32(low), np.float32(high))


@params_class
class ProductParams(SumParams):
    enable_float_output: bool = boolean(False, doc="the output is float32 and has no range")


@params_class
class ActivationParams(Params):
    act_type: str = choice("relu", doc="which function")


def infer_shape_pair(p: Params, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    given, made = same_shape(p, ins[:2], outs[:1])
    return ([*given, *ends_shape(ins[2:], PAIR[2:])], [*made, *ends_shape(outs[1:], OUTPUTS[1:])])


# ---- sums ---------------------------------------------------------------------------------------


def infer_type_sum(p: SumParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    lhs, rhs = (need_dtype(ins[i], BYTES, PAIR[i]) for i in range(2))
    made: DType | None = INT32
    if p.calibrated is not None:
        unknown = lhs is None or rhs is None
        made = None if unknown else lhs if lhs == rhs else INT8
    out = outs[0] if made is None else need_dtype(outs[0], (made,), "the output")
    return ([lhs, rhs, *floats_type(ins[2:], PAIR[2:])],
            [out, *floats_type(outs[1:], OUTPUTS[1:])])


def summed(p: SumParams, ins: list[AnyArray], dtype: DType,
           ) -> tuple[AnyArray, tuple[np.float32, np.float32]]:
    """A sum of that dtype, and its range."""
    ends = [value_of(end) for end in ins[2:]]
    most = HALF_OVER[dtype]
    whole = np.float32(widest(*ends[:2]) + widest(*ends[2:]))
    parts = []
    for i, x in enumerate(ins[:2]):
        low, high = ends[2 * i:2 * i + 2]
        if p.calibrated is not None:
            scale = ratio(factor_of(most, widest(*p.calibrated)), scale_of(x.dtype, low, high))
        elif whole:
            with np.errstate(all="ignore"):
                scale = ratio(widest(low, high) * most, whole * HALF_OVER[x.dtype])
        else:
            scale = np.float32(0)
        with np.errstate(all="ignore"):
            parts.append(x.astype(FLOAT32) * scale)
    with np.errstate(all="ignore"):
        return rounded(parts[0] + parts[1], dtype), p.calibrated or (-whole, whole)


def compute_sum(ctx: OpContext, p: SumParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    value, ends = summed(p, ins, outs[0].dtype)
    outs[0].write(value)
    for out, end in zip(outs[1:], ends, strict=True):
        out.write(one(end))


def compute_ex_sum(ctx: OpContext, p: SumParams, ins: list[NDArray], outs: list[Output]) -> None:
    native.add(ctx, ins, outs, p.calibrated)


# ---- products -----------------------------------------------------------------------------------


def infer_type_product(p: ProductParams, ins: TypeList, outs: TypeList,
                       ) -> tuple[TypeList, TypeList]:
    made = FLOAT32 if p.enable_float_output else INT32 if p.calibrated is None else INT8
    return ([*(need_dtype(ins[i], (INT8,), PAIR[i]) for i in range(2)),
             *floats_type(ins[2:], PAIR[2:])],
            [need_dtype(outs[0], (made,), "the output"), *floats_type(outs[1:], OUTPUTS[1:])])


def output_names_product(p: ProductParams) -> tuple[str, ...]:
    return OUTPUTS[:1] if p.enable_float_output else OUTPUTS


def compute_product(ctx: OpContext, p: ProductParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    whole, ends = ins[0].astype(np.int32) * ins[1], [value_of(end) for end in ins[2:]]
    own = [scale_of(INT8, *ends[:2]), scale_of(INT8, *ends[2:])]
    if p.enable_float_output:
        with np.errstate(all="ignore"):
            scale = np.float32(1.0 / np.float64(own[0]) / np.float64(own[1]))
            outs[0].write(whole.astype(FLOAT32) * scale)
        return
    if p.calibrated is None:
        outs[0].write(whole)
        made = product_range(INT8, ins[2:])
    else:
        wanted = factor_of(HALF_OVER[INT8], widest(*p.calibrated))
        with np.errstate(all="ignore"):
            # cut off towards 0, as MXNet does
            cut = np.trunc(whole.astype(FLOAT32) * ratio(ratio(wanted, own[0]), own[1]))
        outs[0].write(rounded(cut, INT8))
        made = p.calibrated
    for out, end in zip(outs[1:], made, strict=True):
        out.write(one(end))


def compute_ex_product(ctx: OpContext, p: ProductParams, ins: list[NDArray], outs: list[Output],
                       ) -> None:
    wanted = np.float32(0)
    if p.calibrated is not None:
        wanted = factor_of(HALF_OVER[INT8], widest(*p.calibrated))
    native.multiply(ctx, ins, outs[0], wanted)
    if p.enable_float_output:
        return
    if p.calibrated is not None:
        native.fill_range(ctx, outs, p.calibrated)
        return
    with outs[1].open(native.END, ctx.stream) as low, outs[2].open(native.END, ctx.stream) as high:
        whole_sums.write_range(ctx, ins[2:], WHOLE[INT8], low, high)


# ---- relu, flatten ------------------------------------------------------------------------------


def infer_shape(p: Params, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and the output")
    return ([data, *ends_shape(ins[1:], RANGE)], [data, *ends_shape(outs[1:], OUTPUTS[1:])])


def infer_type(p: Params, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    data = need_dtype(merge_types([ins[0], outs[0]]), BYTES, "data")
    return ([data, *floats_type(ins[1:], RANGE)], [data, *floats_type(outs[1:], OUTPUTS[1:])])


def compute_relu(ctx: OpContext, p: ActivationParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    outs[0].write(np.maximum(ins[0], 0))
    outs[1].write(ins[1])
    outs[2].write(ins[2])


def compute_ex_relu(ctx: OpContext, p: ActivationParams, ins: list[NDArray],
                    outs: list[Output]) -> None:
    native.relu(ctx, ins, outs)


def infer_shape_flatten(p: NoParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    if data is not None:
        inner = -1 if -1 in data[1:] else prod(data[1:])
        out = merge(out, (*data[:1], inner), "shapes of the output")
    return ([data, *ends_shape(ins[1:], RANGE)], [out, *ends_shape(outs[1:], OUTPUTS[1:])])


def compute_flatten(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0].reshape(outs[0].shape))
    outs[1].write(ins[1])
    outs[2].write(ins[2])


def compute_ex_flatten(ctx: OpContext, p: NoParams, ins: list[NDArray], outs: list[Output],
                       ) -> None:
    native.flatten(ctx, ins, outs)


register(OpDef(
    "_contrib_quantized_elemwise_add", SumParams, inputs=PAIR, outputs=OUTPUTS,
    infer_shape=infer_shape_pair, infer_type=infer_type_sum, compute=compute_sum,
    compute_ex=compute_ex_sum,
    no_gradient="it is for inference, and MXNet has none",
    doc="Sum of two arrays of 8-bit numbers, element by element.\n\n"
        "lhs and rhs of one shape, int8 or uint8; then min and max (1,) of each. With a calibrated "
        "range the output is of lhs' and rhs' dtype, int8 where they differ, and stands for that "
        "range; else it is int32, and stands for the sum of both ranges. Then its range, (1,), "
        "(1,). Source: MXNet's _contrib_quantized_elemwise_add."))
register(OpDef(
    "_contrib_quantized_elemwise_mul", ProductParams, inputs=PAIR, outputs=output_names_product,
    infer_shape=infer_shape_pair, infer_type=infer_type_product, compute=compute_product,
    compute_ex=compute_ex_product, gradient=zero_gradients,
    doc="Product of two arrays of int8, element by element.\n\n"
        "lhs and rhs of one shape; then min and max (1,) of each. The output is int32; with a "
        "calibrated range int8, cut off towards 0; with enable_float_output float32, and then it "
        "is the only one; else its range follows, (1,), (1,). For inference: gradients are 0. "
        "Source: MXNet's _contrib_quantized_elemwise_mul."))
register(OpDef(
    "_contrib_quantized_act", ActivationParams, inputs=("data", *RANGE), outputs=OUTPUTS,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute_relu,
    compute_ex=compute_ex_relu,
    no_gradient="it is for inference, and MXNet has none",
    doc="relu of 8-bit numbers.\n\n"
        "data of any shape, int8 or uint8; min_data and max_data (1,). The output has data's "
        "dtype, then comes its range, which stays as it is. Source: MXNet's "
        "_contrib_quantized_act."))
register(OpDef(
    "_contrib_quantized_flatten", NoParams, inputs=("data", *RANGE), outputs=OUTPUTS,
    infer_shape=infer_shape_flatten, infer_type=infer_type, compute=compute_flatten,
    compute_ex=compute_ex_flatten, gradient=zero_gradients,
    doc="All axes but the first as one, of 8-bit numbers.\n\n"
        "data (N, *axes), int8 or uint8; min_data and max_data (1,). The output (N, product of "
        "axes), then its range, which stays as it is. For inference: gradients are 0. Source: "
        "MXNet's _contrib_quantized_flatten."))
