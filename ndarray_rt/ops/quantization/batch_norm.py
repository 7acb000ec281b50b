"""_contrib_quantized_batch_norm: an affine step for each channel, from 8-bit numbers to int8."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT8, UINT8
from ...errors import ParameterError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.registry import OpDef, register
from ..nn import batch_norm
from ..nn.batch_norm import BatchNormParams
from . import native
from .ranges import (
    BYTES,
    HALF_OVER,
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

INPUTS = ("data", "gamma", "beta", "moving_mean", "moving_var", "min_data", "max_data")
OUTPUTS = ("output", "min_output", "max_output")


def infer_shape(p: BatchNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    made, results = batch_norm.infer_shape(p, ins[:5], [outs[0], None, None])
    return ([*made, *ends_shape(ins[5:], INPUTS[5:])],
            [results[0], *ends_shape(outs[1:], OUTPUTS[1:])])


def infer_type(p: BatchNormParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ([need_dtype(ins[0], BYTES, "data"), *floats_type(ins[1:], INPUTS[1:])],
            [need_dtype(outs[0], (INT8,), "the output"), *floats_type(outs[1:], OUTPUTS[1:])])


def affine(p: BatchNormParams, ins: list[AnyArray], low: np.float32, high: np.float32,
           ) -> tuple[AnyArray, AnyArray]:
    """Factor and summand of each channel, between int8 numbers of both ranges."""
    gamma, beta, mean, var = (array.astype(FLOAT32) for array in ins[1:5])
    given, wanted = widest(*map(value_of, ins[5:])), widest(low, high)
    if not factor_of(HALF_OVER[INT8], wanted):
        return np.zeros_like(gamma), np.zeros_like(gamma)
    with np.errstate(all="ignore"):
        deviation = np.sqrt(var + np.float32(p.eps)).astype(np.float64)
        inverse = (1 / deviation).astype(FLOAT32)
        factor = gamma * inverse * given / wanted
        summand = (beta - mean * gamma * inverse) * HALF_OVER[INT8] / wanted
        # MXNet has oneDNN normalize the rest with variance 1, to which it adds eps
        return factor / np.sqrt(np.float32(1) + np.float32(p.eps)), summand


def calibrated(p: BatchNormParams) -> tuple[np.float32, np.float32]:
    """The range of the output; ParameterError where there is none."""
    if p.min_calib_range is None or p.max_calib_range is None:
        raise ParameterError("parameters 'min_calib_range' and 'max_calib_range' got "
                             f"{p.min_calib_range} and {p.max_calib_range}, expected both: there "
                             "is no quantized batch normalization without calibration")
    return value_of(one(p.min_calib_range)), value_of(one(p.max_calib_range))


def compute(ctx: OpContext, p: BatchNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    low, high = calibrated(p)
    x = ins[0]
    if x.dtype == UINT8:
        x = scaled(x, ratio(HALF_OVER[INT8], HALF_OVER[UINT8]), INT8)
    column = [1] * x.ndim
    column[p.axis] = -1
    factor, summand = (part.reshape(column) for part in affine(p, ins, low, high))
    with np.errstate(all="ignore"):
        outs[0].write(rounded(x.astype(FLOAT32) * factor + summand, INT8))
    outs[1].write(one(low))
    outs[2].write(one(high))


def refuses(p: BatchNormParams, ins: list[NDArray]) -> str | None:
    return "an array without elements" if 0 in ins[0].shape else None


def compute_ex(ctx: OpContext, p: BatchNormParams, ins: list[NDArray], outs: list[Output]) -> None:
    ends = calibrated(p)
    native.norm(ctx, ins, p.axis % len(ins[0].shape), p.eps, widest(*ends), outs[0])
    native.fill_range(ctx, outs, ends)


register(OpDef(
    "_contrib_quantized_batch_norm", BatchNormParams, inputs=INPUTS, outputs=OUTPUTS,
    mutates=(3, 4), infer_shape=infer_shape, infer_type=infer_type, compute=compute,
    compute_ex=compute_ex, refuses=refuses,
    gradient=zero_gradients,
    doc="Batch normalization of 8-bit numbers by moving statistics.\n\n"
        "data of any shape, int8 or uint8; gamma, beta, moving_mean and moving_var of its "
        "channels, float32; min_data and max_data (1,). The output is int8 and stands for the "
        "calibrated range, which must be given and follows, (1,), (1,). gamma counts as it is, "
        "whatever fix_gamma says. For inference: gradients are 0. Source: MXNet's "
        "_contrib_quantized_batch_norm."))
