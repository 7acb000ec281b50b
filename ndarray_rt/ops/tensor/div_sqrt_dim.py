"""_contrib_div_sqrt_dim: the scaling of attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, same_shape, same_type
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from .numeric import BINARY, convert, is_integer, wide
from .pointwise import eltwise


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if ins[0] == ():
        raise ShapeError("data has shape (), expected rank 1 or more")
    return same_shape(p, ins, outs)


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    root = math.sqrt(ins[0].shape[-1] or 1)
    if is_integer(ins[0].dtype):
        # the root is a whole number first
        outs[0].write(BINARY["div"].forward(ins[0], convert(np.float64(root), ins[0].dtype)))
        return
    x = wide(ins[0])
    outs[0].write(convert(x / x.dtype.type(root), ins[0].dtype))


def refuses(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: NoParams, ins: list[NDArray], outs: list[Output]) -> None:
    eltwise(ctx, "_contrib_div_sqrt_dim", lib.NDRT_ELTWISE_LINEAR,
            1.0 / math.sqrt(ins[0].shape[-1]), 0.0, ins[0], outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_contrib_div_sqrt_dim", None, out_grads[0])


register(OpDef("_contrib_div_sqrt_dim", NoParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, inplace={0: 0},
               doc="data divided by the square root of the length of its last axis.\n\nShape and "
                   "dtype stay; whole numbers are divided by the whole part of the root. Source: "
                   "Vaswani et al. 2017; MXNet's div_sqrt_dim; oneDNN eltwise."))
