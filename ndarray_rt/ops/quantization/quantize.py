"""_contrib_quantize, _contrib_quantize_v2, _contrib_quantize_asym: floats as whole numbers."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, UINT8, DType, find_dtype
from ...errors import ParameterError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge
from ...op.params import Params, choice, optional_number, params_class
from ...op.registry import OpDef, register
from ..tensor.places import can_add
from ..tensor.pointwise import put
from . import native
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
    rounded,
    scaled,
    value_of,
    widest,
    zero_gradients,
)

OUTPUTS = ("output0", "output1", "output2")
RANGE = ("min_range", "max_range")


@params_class
class QuantizeParams(Params):
    out_type: str = choice("int8", "uint8", default="uint8", doc="dtype of the output")


@params_class
class CalibratedParams(Params):
    """Parameters of what may know its range beforehand."""

    out_type: str = choice("auto", "int8", "uint8", default="int8",
                           doc="dtype of the output; auto: uint8 where min_calib_range is given "
                               "and not below 0")
    min_calib_range: float | None = optional_number(
        finite=True, doc="the least value, found by calibration")
    max_calib_range: float | None = optional_number(finite=True, doc="the greatest value")

    @property
    def calibrated(self) -> tuple[np.float32, np.float32] | None:
        """The range, where both ends are given."""
        low, high = self.min_calib_range, self.max_calib_range
        return None if low is None or high is None else (np.float32(low), np.float32(high))

    @property
    def dtype(self) -> DType:
        """The output's."""
        if self.out_type != "auto":
            return find_dtype(self.out_type)
        known = self.calibrated
        return INT8 if known is None or known[0] < 0 else UINT8


@params_class
class QuantizeAsymParams(Params):
    min_calib_range: float | None = optional_number(
        finite=True, doc="the least value, found by calibration")
    max_calib_range: float | None = optional_number(finite=True, doc="the greatest value")


def infer_shape(p: Params, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    """Of data with or without a range: the output has data's shape, and a range."""
    data = merge(ins[0], outs[0], "shapes of data and the output")
    given = ends_shape(ins[1:], RANGE) if len(ins) > 1 else []
    return [data, *given], [data, *ends_shape(outs[1:], OUTPUTS[1:])]


# ---- _contrib_quantize --------------------------------------------------------------------------


def infer_type(p: QuantizeParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    made = need_dtype(outs[0], (find_dtype(p.out_type),), "the output")
    return (floats_type(ins, ("data", *RANGE)), [made, *floats_type(outs[1:], OUTPUTS[1:])])


def compute(ctx: OpContext, p: QuantizeParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    dtype, (low, high) = find_dtype(p.out_type), finite(*map(value_of, ins[1:]))
    most = widest(low, high)
    outs[0].write(scaled(ins[0], factor_of(WHOLE[dtype], most), dtype))
    outs[1].write(one(low if dtype == UINT8 else -most))
    outs[2].write(one(high if dtype == UINT8 else most))


def compute_ex(ctx: OpContext, p: QuantizeParams, ins: list[NDArray], outs: list[Output]) -> None:
    ends = native.ends_of(ins[1:], ctx)
    native.quantize(ctx, ins[0], ends, WHOLE[find_dtype(p.out_type)], outs)


# ---- _contrib_quantize_v2 -----------------------------------------------------------------------


def infer_type_v2(p: CalibratedParams, ins: TypeList, outs: TypeList,
                  ) -> tuple[TypeList, TypeList]:
    made = need_dtype(outs[0], (p.dtype,), "the output")
    return ([need_dtype(ins[0], (FLOAT32, *BYTES), "data")],
            [made, *floats_type(outs[1:], OUTPUTS[1:])])


def compute_v2(ctx: OpContext, p: CalibratedParams, ins: list[AnyArray],
               outs: list[NumpyOutput]) -> None:
    x, given = ins[0], p.calibrated
    if x.dtype in BYTES:
        most = HALF_OVER[x.dtype]
        low, high = given or (np.float32(0) if x.dtype == UINT8 else -most, most)
        outs[0].write(x.astype(p.dtype))
    else:
        low, high = given or finite(*extent(x))
        outs[0].write(scaled(x, factor_of(HALF_OVER[p.dtype], widest(low, high)), p.dtype))
        if p.dtype == INT8:
            high = widest(low, high)
            low = np.float32(-high)
    outs[1].write(one(low))
    outs[2].write(one(high))


def known_range(p: CalibratedParams, data: DType) -> tuple[np.float32, np.float32] | None:
    """The range of the output, where data need not be looked at."""
    if data == FLOAT32:
        given = p.calibrated
        if given is None or p.dtype == UINT8:
            return given
        return np.float32(-widest(*given)), widest(*given)
    most = HALF_OVER[data]
    return p.calibrated or (np.float32(0) if data == UINT8 else -most, most)


def refuses_v2(p: CalibratedParams, ins: list[NDArray]) -> str | None:
    if ins[0].dtype not in (FLOAT32, p.dtype):
        return f"{ins[0].dtype} wraps round as {p.dtype}"
    return None


def compute_ex_v2(ctx: OpContext, p: CalibratedParams, ins: list[NDArray], outs: list[Output],
                  ) -> None:
    data, ends = ins[0], known_range(p, ins[0].dtype)
    if ends is None:
        native.quantize(ctx, data, native.extent(ctx, data), HALF_OVER[p.dtype], outs)
        return
    if data.dtype == FLOAT32:
        native.to_bytes(ctx, data, outs[0], factor_of(HALF_OVER[p.dtype], widest(*ends)))
    else:
        can_add(outs[0])
        put(ctx, native.dense(data, ctx), outs[0])
    native.fill_range(ctx, outs, ends)


def extent(x: AnyArray) -> tuple[np.float32, np.float32]:
    """The least and the greatest number; NaN is passed over. Of none: what MXNet begins with."""
    most = np.finfo(np.float32).max
    return (np.float32(np.fmin.reduce(x, axis=None, initial=most)),
            np.float32(np.fmax.reduce(x, axis=None, initial=-most)))


def finite(low: np.float32, high: np.float32) -> tuple[np.float32, np.float32]:
    """The range; ParameterError for one without an end, in which all numbers are 0."""
    if not np.isfinite(low) or not np.isfinite(high):
        raise ParameterError(f"data has a range from {low:g} to {high:g}, expected finite numbers")
    return low, high


# ---- _contrib_quantize_asym ---------------------------------------------------------------------


def infer_type_asym(p: QuantizeAsymParams, ins: TypeList, outs: TypeList,
                    ) -> tuple[TypeList, TypeList]:
    made = need_dtype(outs[0], (UINT8,), "the output")
    return floats_type(ins, ("data",)), [made, *floats_type(outs[1:], ("scale", "shift"))]


def compute_asym(ctx: OpContext, p: QuantizeAsymParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    if p.min_calib_range is None or p.max_calib_range is None:
        low, high = finite(*extent(ins[0]))
    else:
        low, high = np.float32(p.min_calib_range), np.float32(p.max_calib_range)
    with np.errstate(all="ignore"):
        scale, shift = steps_between(low, high)
        outs[0].write(rounded(ins[0] * scale + shift, UINT8))
    outs[1].write(one(scale))
    outs[2].write(one(shift))


def steps_between(low: np.float32, high: np.float32) -> tuple[np.float32, np.float32]:
    """Scale and shift of numbers between these. Where all are the same the range begins or ends at
    0, and numbers that count as 0 have one of hidden states."""
    if np.isinf(ratio(WHOLE[UINT8], high - low)):
        low, high = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
    if np.isinf(ratio(WHOLE[UINT8], high - low)):
        low, high = np.float32(-1), np.float32(127 / 128)  # 0 is a whole step
    scale = ratio(WHOLE[UINT8], high - low)
    return scale, WHOLE[UINT8] - high * scale


register(OpDef(
    "_contrib_quantize", QuantizeParams, inputs=("data", *RANGE), outputs=OUTPUTS,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute, compute_ex=compute_ex,
    gradient=zero_gradients,
    doc="float32 as whole numbers of 8 bits, by a given range.\n\n"
        "data of any shape; min_range and max_range (1,). The output is data times 127 (int8) or "
        "255 (uint8), by the greater absolute value of the range, to the nearest whole number "
        "that the dtype holds; then its range (1,), (1,): the given one of uint8, one around 0 of "
        "int8. For inference: gradients are 0. Source: MXNet's _contrib_quantize."))
register(OpDef(
    "_contrib_quantize_v2", CalibratedParams, inputs=("data",), outputs=OUTPUTS,
    infer_shape=infer_shape, infer_type=infer_type_v2, compute=compute_v2,
    compute_ex=compute_ex_v2, refuses=refuses_v2, gradient=zero_gradients,
    doc="float32 as whole numbers of 8 bits, by a range that is a parameter or data's own.\n\n"
        "data of any shape, float32, or int8 or uint8, which are passed on as they are. The output "
        "is data times 127.5 (int8) or 255.5 (uint8), by the greater absolute value of the "
        "range, to the nearest whole number that the dtype holds; then its range (1,), (1,). For "
        "inference: gradients are 0. Source: MXNet's _contrib_quantize_v2."))
register(OpDef(
    "_contrib_quantize_asym", QuantizeAsymParams, inputs=("data",),
    outputs=("output", "scale", "shift"), infer_shape=infer_shape, infer_type=infer_type_asym,
    compute=compute_asym, gradient=zero_gradients,
    doc="float32 as uint8 whose 0 and 255 are the least and the greatest value.\n\n"
        "data of any shape. The output is data * scale + shift, to the nearest whole number; then "
        "scale (1,) = 255 / (max - min) and shift (1,) = 255 - max * scale, of the calibrated "
        "range or of data's own. For inference: gradients are 0. Source: MXNet's "
        "_contrib_quantize_asym."))
