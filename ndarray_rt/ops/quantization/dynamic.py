"""_contrib_dynamic_fully_connected: floats times 8-bit weights, rounded to 8 bits when they come.

_quantize_rows: weights for it.
"""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, INT32
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.packing import weights
from ...op.params import Params, boolean, choice, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc, tagged_desc
from ...storage.kernels.gemm import dynamic_dense
from ..blas import uses_blas
from ..nn import fully_connected
from ..nn.fully_connected import FullyConnectedParams, matrix
from ..nn.shape_rules import expect
from .ranges import floats_type, need_dtype, zero_gradients

WEIGHTS = f"AcdB{lib.NDRT_WHOLE_BLOCK}a2b"
# sums of more products of 255 and 128 may be beyond int32
MOST_FEATURES = 1 << 16


@params_class
class DynamicDenseParams(FullyConnectedParams):
    data_dtype: str = choice("int8", "uint8", default="int8",
                             doc="what rows become: whole numbers around 0, or from the least "
                                 "number, or 0, to the greatest")
    per_tensor: bool = boolean(False, doc="all rows have one range; False: each has its own")


def input_names(p: DynamicDenseParams) -> tuple[str, ...]:
    return ("data", "weight", "scale") if p.no_bias else ("data", "weight", "scale", "bias")


def infer_shape(p: DynamicDenseParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    given = [*ins[:2], *ins[3:]]
    made, results = fully_connected.infer_shape(p, given, outs)
    scale = expect(ins[2], (p.num_hidden,), "scale", f"num_hidden={p.num_hidden}")
    return [*made[:2], scale, *made[2:]], results


def infer_type(p: DynamicDenseParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    names = input_names(p)
    weight = need_dtype(ins[1], (INT8,), "weight")
    return ([*floats_type(ins[:1], names), weight, *floats_type(ins[2:], names[2:])],
            floats_type(outs, ("the output",)))


def rounded_rows(p: DynamicDenseParams, x: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Rows as whole numbers less their zero point, in float64, and the scales (rows, 1)."""
    axis = None if p.per_tensor else 1
    is_finite = np.isfinite(x).all(axis=axis, keepdims=True)
    x = np.where(is_finite, x, np.float32(0))
    least = x.min(axis=axis, keepdims=True, initial=0)
    most = x.max(axis=axis, keepdims=True, initial=0)
    with np.errstate(all="ignore"):
        if p.data_dtype == "int8":
            scale, low, high = np.maximum(-least, most) / np.float32(127), -127, 127
            zero = np.zeros_like(scale)
        else:
            scale, low, high = (most - least) / np.float32(255), 0, 255
        # below that, native code may take numbers as 0
        scale = np.where(scale < np.finfo(np.float32).tiny, np.float32(1), scale)
        scale = scale.astype(np.float32)
        if p.data_dtype == "uint8":
            zero = np.minimum(np.rint(-least / scale), np.float32(255))
        whole = np.clip(np.rint(x / scale), low - zero, high - zero).astype(np.float64)
    scale = np.where(is_finite, scale, np.float32(np.nan))
    return whole, np.broadcast_to(scale, (len(x), 1))


@uses_blas
def compute(ctx: OpContext, p: DynamicDenseParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    rows, scale = rounded_rows(p, ins[0].reshape(matrix(p, ins[0].shape)).astype(np.float32))
    sums = (rows @ ins[1].astype(np.float64).T).astype(np.float32)
    with np.errstate(all="ignore"):
        made = sums * (scale * ins[2].astype(np.float32))
        if not p.no_bias:
            made = made + ins[3]
    outs[0].write(made.reshape(outs[0].shape))


def refuses(p: DynamicDenseParams, ins: list[NDArray]) -> str | None:
    features = matrix(p, ins[0].shape)[1]
    if 0 in ins[0].shape or 0 in ins[1].shape:
        return "an array without elements"
    return f"{features} features" if features > MOST_FEATURES else None


def compute_ex(ctx: OpContext, p: DynamicDenseParams, ins: list[NDArray], outs: list[Output],
               ) -> None:
    rows, features = matrix(p, ins[0].shape)
    packed = weights(ctx, ins[1], tagged_desc(INT8, (p.num_hidden, features, 1, 1), WEIGHTS))
    x, scales, *bias = (get_default(array, ctx.stream) for array in (ins[0], *ins[2:]))
    # three floats of a row, and its numbers in 16 bits
    scratch = ctx.stream.scratch(default_desc(INT32, (rows * (3 + (features + 1) // 2),)))
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as y:
        ctx.kernel(dynamic_dense(
            out=y, data=x, weights=packed, scales=scales, scratch=scratch,
            bias=bias[0] if bias else None, rows=rows, features=features, columns=p.num_hidden,
            is_signed=p.data_dtype == "int8", per_tensor=p.per_tensor))


# ---- weights ------------------------------------------------------------------------------------


@params_class
class QuantizeRowsParams(Params):
    transposed: bool = boolean(False, doc="data has its outputs along its last axis")


def infer_shape_rows(p: QuantizeRowsParams, ins: ShapeList, outs: ShapeList,
                     ) -> tuple[ShapeList, ShapeList]:
    data = expect(ins[0], (-1, -1), "data", "a matrix of weights")
    made = data if data is None or not p.transposed else data[::-1]
    made = expect(outs[0], made if made is not None else (-1, -1), "the output", f"data {data}")
    assert made is not None
    back = made[::-1] if p.transposed else made
    return [back], [made, expect(outs[1], made[:1], "scale", f"data {data}")]


def infer_type_rows(p: QuantizeRowsParams, ins: TypeList, outs: TypeList,
                    ) -> tuple[TypeList, TypeList]:
    return (floats_type(ins, ("data",)), [need_dtype(outs[0], (INT8,), "the output"),
                                          *floats_type(outs[1:], ("scale",))])


def compute_rows(ctx: OpContext, p: QuantizeRowsParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    x = ins[0].T if p.transposed else ins[0]
    with np.errstate(all="ignore"):
        scale = np.abs(x).max(axis=1, initial=0).astype(np.float32) / np.float32(127)
        scale = np.where(scale == 0, np.float32(1), scale).astype(np.float32)
        whole = np.clip(np.rint(x / scale[:, None]), -127, 127)
    # what is not finite leaves its mark in the scale
    outs[0].write(np.where(np.isfinite(scale[:, None]), whole, 0).astype(np.int8))
    outs[1].write(np.where(np.isfinite(scale), scale, np.float32(np.nan)))


register(OpDef(
    "_contrib_dynamic_fully_connected", DynamicDenseParams, inputs=input_names,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute, compute_ex=compute_ex,
    refuses=refuses, gradient=zero_gradients, flops=fully_connected.flops,
    doc="Linear transformation of floats, rounded to 8 bits on the way, with 8-bit weights.\n\n"
        "data float32 as in FullyConnected, weight (num_hidden, features) int8, scale "
        "(num_hidden,), what 1 stands for in each row of weight, and bias (num_hidden,). A row of "
        "data becomes whole numbers q: of int8 x / s with s = max |x| / 127, of uint8 x / s + z "
        "with s = (max(x, 0) - min(x, 0)) / 255 and z = -min(x, 0) / s, all to the nearest; of "
        "per_tensor over all rows, as ONNX's DynamicQuantizeLinear. The output is the sum of "
        "(q - z) times weight, exactly, times s times scale, plus bias. Rows with numbers that "
        "are not finite give NaN. For inference: gradients are 0."))
register(OpDef(
    "_quantize_rows", QuantizeRowsParams, inputs=("data",), outputs=("data", "scale"),
    infer_shape=infer_shape_rows, infer_type=infer_type_rows, compute=compute_rows,
    is_fused=True, no_gradient="it is for inference", is_prologue=True,
    doc="A float32 matrix as int8, with a scale for each row: weights of "
        "_contrib_dynamic_fully_connected.\n\n"
        "data (rows, columns), or (columns, rows) where it is transposed. The output is data by "
        "scale, to the nearest; scale (rows,) is the greatest absolute value of a row by 127, 1 "
        "where all are 0. Made by dynamic quantization."))
