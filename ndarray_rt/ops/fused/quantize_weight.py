"""_quantize_weight: a parameter as int8, once for each change of it. Made by calibration."""

from __future__ import annotations

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import INT8
from ...op.context import OpContext
from ...op.infer import TypeList
from ...op.params import NoParams
from ...op.registry import OpDef, register
from ..quantization import native
from ..quantization.quantize import OUTPUTS, RANGE, extent, infer_shape
from ..quantization.ranges import WHOLE, factor_of, floats_type, need_dtype, one, scaled, widest


def infer_type(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    made = need_dtype(outs[0], (INT8,), "the output")
    return floats_type(ins, ("data",)), [made, *floats_type(outs[1:], OUTPUTS[1:])]


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    most = widest(*extent(ins[0]))
    outs[0].write(scaled(ins[0], factor_of(WHOLE[INT8], most), INT8))
    outs[1].write(one(-most))
    outs[2].write(one(most))


def compute_ex(ctx: OpContext, p: NoParams, ins: list[NDArray], outs: list[Output]) -> None:
    native.quantize(ctx, ins[0], native.extent(ctx, ins[0]), WHOLE[INT8], outs)


register(OpDef(
    "_quantize_weight", NoParams, inputs=("data",), outputs=("data", *RANGE),
    infer_shape=infer_shape, infer_type=infer_type, compute=compute, compute_ex=compute_ex,
    is_fused=True, no_gradient="it is for inference", is_prologue=True,
    doc="A float32 parameter as int8: what _contrib_quantize makes of it in its own range.\n\n"
        "data of any shape. The output is data times 127, by its greatest absolute value, to the "
        "nearest whole number; then its range (1,), (1,), around 0. Made by calibration."))
