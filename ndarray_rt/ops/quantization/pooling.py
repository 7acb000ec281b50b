"""_contrib_quantized_pooling: maxima and averages of windows of 8-bit numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ParameterError, where
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge_types, need_rank
from ...op.params import params_class
from ...op.registry import OpDef, register
from ..nn import pooling
from ..nn.pool_window import Windows, divisors, reduce_windows
from ..nn.pooling import PoolingParams
from . import native
from .ranges import BYTES, ends_shape, floats_type, need_dtype, rounded, zero_gradients

P = TypeVar("P", bound="QuantizedPoolingParams")
OUTPUTS = ("output", "min_output", "max_output")
RANGE = ("min_data", "max_data")


@params_class
class QuantizedPoolingParams(PoolingParams):
    """Pooling's parameters, of its maxima and averages."""

    @classmethod
    def parse(cls: type[P], attrs: Mapping[str, object], op: str, node: str | None = None) -> P:
        made = super().parse(attrs, op, node)
        if made.pool_type not in ("max", "avg"):
            raise ParameterError(f"{where(op, node)}: parameter 'pool_type' got "
                                 f"{made.pool_type!r}, expected one of 'max', 'avg'")
        return made


def infer_shape(p: QuantizedPoolingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    need_rank(ins[0], (3, 4, 5), "data")
    made, results = pooling.infer_shape(p, ins[:1], outs[:1])
    return ([*made, *ends_shape(ins[1:], RANGE)], [*results, *ends_shape(outs[1:], OUTPUTS[1:])])


def infer_type(p: QuantizedPoolingParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    data = need_dtype(merge_types([ins[0], outs[0]]), BYTES, "data")
    return ([data, *floats_type(ins[1:], RANGE)], [data, *floats_type(outs[1:], OUTPUTS[1:])])


def window_sizes(p: QuantizedPoolingParams, win: Windows) -> AnyArray:
    """What sums over windows are divided by: all of the kernel, or what it meets of data."""
    if p.includes_pad:
        return np.full((1,) * len(win.out), np.prod(win.kernel))
    return divisors(win, False)


def compute(ctx: OpContext, p: QuantizedPoolingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = np.moveaxis(ins[0], -1, 1) if p.channels_last else ins[0]
    win = p.windows(ins[0].shape)
    if p.pool_type == "max":
        y = reduce_windows(x, win, np.maximum, int(np.iinfo(x.dtype).min))
    else:
        sums = reduce_windows(x.astype(np.int64), win, np.add, 0)
        y = rounded(sums.astype(np.float32) / window_sizes(p, win).astype(np.float32), x.dtype)
    outs[0].write(np.moveaxis(y, 1, -1) if p.channels_last else y)
    outs[1].write(ins[1])
    outs[2].write(ins[2])


def refuses(p: QuantizedPoolingParams, ins: list[NDArray]) -> str | None:
    return native.refuses_windows(p.windows(ins[0].shape))


def compute_ex(ctx: OpContext, p: QuantizedPoolingParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    native.pool(ctx, ins[0], outs[0], p.windows(ins[0].shape), p.channels_last,
                     p.pool_type == "max", p.includes_pad)
    native.pass_range(ctx, ins[1:], outs)


register(OpDef(
    "_contrib_quantized_pooling", QuantizedPoolingParams, inputs=("data", *RANGE), outputs=OUTPUTS,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute, compute_ex=compute_ex,
    refuses=refuses, gradient=zero_gradients,
    doc="Pooling of 8-bit numbers over 1 to 3 spatial axes.\n\n"
        "data as in Pooling, int8 or uint8; min_data and max_data (1,). The output is the maximum "
        "of each window, or its average to the nearest whole number, halves to even; then data's "
        "range as it is. An average divides by all of the kernel, also where it reaches beyond "
        "the padding, or with count_include_pad=False by what it meets of data. For inference: "
        "gradients are 0. Source: MXNet's _contrib_quantized_pooling."))
