"""_contrib_count_sketch: a projection to fewer dimensions in which each element has one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import OutOfBounds, where
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, need_rank
from ...op.params import Params, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import same_float_type, wide
from .places import whole

RANKS = (2, 4)


@params_class
class CountSketchParams(Params):
    out_dim: int = integer(low=1, doc="length of the output's last axis")
    processing_batch_size: int = integer(32, low=1, doc="accepted and without effect: rows that a "
                                                        "GPU takes at a time")


def infer_shape(p: CountSketchParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    need_rank(data, RANKS, "data")
    need_rank(out, RANKS, "the output")
    row = merge(ins[1], ins[2], "shapes of h and s")
    row = merge(row, (1, -1 if data is None else data[-1]), "shapes of h and s")
    if out is not None:
        data = merge(data, (*out[:-1], -1), "shapes of data and output")
    if data is not None and row is not None:
        data = merge(data, (*data[:-1], row[1]), "shapes of data and h")
    if data is not None:
        out = merge(out, (*data[:-1], p.out_dim), "output shapes")
    return [data, row, row], [out]


def _places(ctx: OpContext, p: CountSketchParams, h: AnyArray) -> AnyArray:
    """What h says, checked."""
    places = whole(h.reshape(-1))
    if places.size and not 0 <= places.min() <= places.max() < p.out_dim:
        raise OutOfBounds(f"{where('_contrib_count_sketch', ctx.node_name)}: h has numbers from "
                          f"{places.min()} to {places.max()}, expected them within "
                          f"[0, out_dim={p.out_dim})")
    return places


def compute(ctx: OpContext, p: CountSketchParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, places = wide(ins[0]), _places(ctx, p, ins[1])
    made = np.zeros(outs[0].shape, x.dtype)
    np.add.at(np.moveaxis(made, -1, 0), places, np.moveaxis(x * wide(ins[2]).reshape(-1), -1, 0))
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, nothing comes back to the places and signs, which are drawn once
    _, h, s = node.inputs
    return [emit("_backward_count_sketch", node.params, out_grads[0], h, s)[0],
            emit.zeros_like(h), emit.zeros_like(s)]


def infer_shape_backward(p: CountSketchParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data, h, s), (out,) = infer_shape(p, [outs[0], ins[1], ins[2]], [ins[0]])
    return [out, h, s], [data]


def compute_backward(ctx: OpContext, p: CountSketchParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, places = wide(ins[0]), _places(ctx, p, ins[1])
    made = dy[..., places] * wide(ins[2]).reshape(-1)
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    _, h, s = node.inputs
    return [emit("_contrib_count_sketch", node.params, out_grads[0], h, s)[0],
            emit.zeros_like(h), emit.zeros_like(s)]


register(OpDef("_contrib_count_sketch", CountSketchParams, inputs=("data", "h", "s"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               gradient=gradient,
               doc="Element i of each row of data, times s[i], is added to place h[i] of the "
                   "output's row.\n\ndata (n, d), or rank 4; h (1, d) whole numbers from 0 to "
                   "out_dim - 1, s (1, d) signs; (n, out_dim). One float dtype. Only data has a "
                   "gradient. OutOfBounds for other places. Source: Charikar et al. 2002; MXNet's "
                   "_contrib_count_sketch, which runs on GPUs only; numpy."))
register(OpDef("_backward_count_sketch", CountSketchParams, inputs=("out_grad", "h", "s"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=same_float_type, compute=compute_backward, gradient=gradient_backward,
               is_backward=True, doc="The gradient of _contrib_count_sketch's data."))
