"""clip: every element brought into an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...native import lib
from ...op.context import OpContext
from ...op.elementwise import Elementwise, X
from ...op.infer import same_shape, same_type
from ...op.params import Params, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from .functions import function, is_padded
from .numeric import convert
from .pointwise import clamp, step_grad


@params_class
class ClipParams(Params):
    a_min: float = number(doc="lower end")
    a_max: float = number(doc="upper end")

    def ends(self) -> tuple[np.float32, np.float32]:
        """MXNet keeps both in float32, also for float64 data."""
        return np.float32(self.a_min), np.float32(self.a_max)


def compute(ctx: OpContext, p: ClipParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    x = ins[0]
    low, high = p.ends()
    made = np.where(x < low, convert(low, x.dtype), x)
    # the upper end wins where the ends are the wrong way round
    outs[0].write(np.where(x > high, convert(high, x.dtype), made))


def refuses(p: ClipParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: ClipParams, ins: list[NDArray], outs: list[Output]) -> None:
    if is_padded(ins[0]) and p.a_min <= p.a_max:
        clamp(ctx, "clip", p.a_min, p.a_max, ins[0], outs[0])
    else:
        function(ctx, lib.NDRT_FUNCTION_CLIP, ins[0], outs[0], p.a_min, p.a_max)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_clip", node.params, out_grads[0], node.inputs[0])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # data decides only what passes: its own slope is 0 almost everywhere
    return [*emit("_backward_clip", node.params, out_grads[0], node.inputs[1]), None]


def compute_backward(ctx: OpContext, p: ClipParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x = ins
    low, high = p.ends()
    outs[0].write(np.where((x > high) | (x < low), np.zeros((), dy.dtype), dy))


def compute_ex_backward(ctx: OpContext, p: ClipParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    step_grad(ctx, lib.NDRT_STEP_CLIP, ins[0], ins[1], outs[0], p.a_min, p.a_max)


register(OpDef("clip", ClipParams, inputs=("data",), infer_shape=same_shape, infer_type=same_type,
               compute=compute, compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               inplace={0: 0}, numbers=("a_min", "a_max"),
               elementwise=lambda p: Elementwise("clip", (X, float(p.a_min), float(p.a_max))),
               doc="Every element brought into [a_min, a_max]; NaN stays NaN.\n\n"
                   "The output has the shape and dtype of data. Source: MXNet's clip; a native "
                   "kernel."))
register(OpDef("_backward_clip", ClipParams, inputs=("out_grad", "data"),
               infer_shape=same_shape, infer_type=same_type, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses,
               gradient=gradient_backward, inplace={0: 0}, is_backward=True,
               numbers=("a_min", "a_max"),
               doc="The gradient of clip: out_grad where data is inside the interval or NaN."))
