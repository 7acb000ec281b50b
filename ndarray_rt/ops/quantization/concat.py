"""_contrib_quantized_concat: 8-bit numbers one behind the other, in the widest of their ranges."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import INT8, UINT8
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.registry import OpDef, register
from ..tensor import concat
from ..tensor.concat import ConcatParams
from . import native
from .ranges import (
    BYTES,
    ends_shape,
    floats_type,
    need_dtype,
    one,
    ratio,
    scale_of,
    scaled,
    value_of,
    zero_gradients,
)

OUTPUTS = ("output", "min_output", "max_output")


def input_names(p: ConcatParams) -> tuple[str, ...]:
    ends = (f"arg{i}_{end}" for i in range(p.num_args) for end in ("min", "max"))
    return (*concat.input_names(p), *ends)


def infer_shape(p: ConcatParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    count = p.num_args
    made, results = concat.infer_shape(p, ins[:count], outs[:1])
    return ([*made, *ends_shape(ins[count:], input_names(p)[count:])],
            [*results, *ends_shape(outs[1:], OUTPUTS[1:])])


def infer_type(p: ConcatParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    count, names = p.num_args, input_names(p)
    given = [need_dtype(dtype, BYTES, name)
             for dtype, name in zip(ins[:count], names, strict=False)]
    whole = outs[0]
    if None not in [dtype and dtype.name for dtype in given]:
        whole = need_dtype(whole, (INT8 if INT8 in given else UINT8,), "the output")
    return ([*given, *floats_type(ins[count:], names[count:])],
            [whole, *floats_type(outs[1:], OUTPUTS[1:])])


def compute(ctx: OpContext, p: ConcatParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    ends = [value_of(end) for end in ins[p.num_args:]]
    low, high = np.min([0, *ends[::2]]), np.max([0, *ends[1::2]])
    dtype = outs[0].dtype
    wanted = scale_of(dtype, low, high)
    parts = []
    for i, x in enumerate(ins[:p.num_args]):
        own = scale_of(x.dtype, ends[2 * i], ends[2 * i + 1])
        same = own == wanted and x.dtype == dtype
        # numbers that count as 0 among others of another dtype
        scale = np.float32(0) if np.isinf(own) else ratio(wanted, own)
        parts.append(x if same else scaled(x, scale, dtype))
    outs[0].write(np.concatenate(parts, axis=p.dim))
    outs[1].write(one(low))
    outs[2].write(one(high))


def compute_ex(ctx: OpContext, p: ConcatParams, ins: list[NDArray], outs: list[Output]) -> None:
    native.join(ctx, ins[:p.num_args], ins[p.num_args:], p.dim % len(outs[0].shape), outs)


register(OpDef(
    "_contrib_quantized_concat", ConcatParams, inputs=input_names, outputs=OUTPUTS,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute, compute_ex=compute_ex,
    gradient=zero_gradients,     takes_any=True,
    doc="Arrays of 8-bit numbers one behind the other along an axis.\n\n"
        "num_args arrays, int8 or uint8, of one shape but for the axis; then min and max (1,) of "
        "each. The output is int8 if one of them is; its range, (1,) and (1,), is the widest, with "
        "0 in it, and what has another one is scaled and rounded. For inference: gradients are "
        "0. Source: MXNet's _contrib_quantized_concat."))
