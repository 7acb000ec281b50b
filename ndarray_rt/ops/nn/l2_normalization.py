"""L2Normalization: vectors brought to length 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, choice, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import norm as kernels
from ..floats import same_float_type, wide
from .shape_rules import expect


@params_class
class L2NormalizationParams(Params):
    eps: float = number(1e-10, low=0.0, doc="added to the sum of squares")
    mode: str = choice("instance", "channel", "spatial", default="instance",
                       doc="what a vector is: a sample, the channels of a place, or the places "
                           "of a channel")


def _view(p: L2NormalizationParams, data: Shape) -> tuple[int, int, int]:
    """Axes before a vector's elements, their count, axes behind."""
    if p.mode == "channel":
        return data[0], data[1], prod(data[2:])
    front = 1 if p.mode == "instance" else 2
    return prod(data[:front]), prod(data[front:]), 1


def _norms(p: L2NormalizationParams, data: Shape) -> Shape:
    """The shape of the lengths."""
    if p.mode == "channel":
        return (data[0], *data[2:])
    return data[: 1 if p.mode == "instance" else 2]


def infer_shape(p: L2NormalizationParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if data is None:
        return [None], [None, outs[1]]
    least = 1 if p.mode == "instance" else 3
    if len(data) < least:
        raise ShapeError(f"data has shape {data}, expected rank {least} or more with mode "
                         f"{p.mode!r}")
    return [data], [data, expect(outs[1], _norms(p, data), "norm", f"data {data}")]


def compute(ctx: OpContext, p: L2NormalizationParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = wide(ins[0]).reshape(_view(p, ins[0].shape))
    norm = np.sqrt(np.square(x).sum(axis=1, keepdims=True) + x.dtype.type(np.float32(p.eps)))
    outs[0].write((x / norm).reshape(ins[0].shape).astype(ins[0].dtype, copy=False))
    outs[1].write(norm.reshape(outs[1].shape).astype(ins[0].dtype, copy=False))


def refuses(p: L2NormalizationParams, ins: list[NDArray]) -> str | None:
    if not ins[0].size:
        return "there is nothing to normalize"
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: L2NormalizationParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    stream, data = ctx.stream, ins[0]
    own = default_desc(FLOAT32, data.shape)
    x = get_data_reorder(data, own, stream)
    with (outs[0].open(own, stream, inplace_of=x) as y,
          outs[1].open(default_desc(FLOAT32, outs[1].shape), stream) as norm):
        outer, length, inner = _view(p, data.shape)
        ctx.kernel(kernels.l2(out=y, data=x, norm=norm, outer=outer, length=length, inner=inner,
                              epsilon=p.eps))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_L2Normalization", node.params, out_grads[0], *node.outputs)


def infer_shape_backward(p: L2NormalizationParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data,), (_, norm) = infer_shape(p, [merge(ins[0], ins[1])], [outs[0], ins[2]])
    return [data, data, norm], [data]


def compute_backward(ctx: OpContext, p: L2NormalizationParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    view = _view(p, ins[1].shape)
    dy, y = (wide(value).reshape(view) for value in ins[:2])
    norm = wide(ins[2]).reshape(view[0], 1, view[2])
    dx = (dy - y * (y * dy).sum(axis=1, keepdims=True)) / norm
    outs[0].write(dx.reshape(ins[1].shape).astype(ins[1].dtype, copy=False))


def compute_ex_backward(ctx: OpContext, p: L2NormalizationParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    stream, out = ctx.stream, ins[1]
    own = default_desc(FLOAT32, out.shape)
    dy, y = (get_data_reorder(value, own, stream) for value in ins[:2])
    with outs[0].open(own, stream, inplace_of=dy) as dx:
        outer, length, inner = _view(p, out.shape)
        ctx.kernel(kernels.l2_grad(dx=dx, dy=dy, out=y, norm=get_default(ins[2], stream),
                                   outer=outer, length=length, inner=inner))


register(OpDef("L2Normalization", L2NormalizationParams, inputs=("data",),
               outputs=("output", "norm"), visible_outputs=1, infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, compute_ex=compute_ex,
               refuses=refuses, gradient=gradient, inplace={0: 0}, numbers=("eps",),
               names_data=True,
               doc="Vectors of length 1: x / sqrt(sum(x^2) + eps).\n\n"
                   "mode instance: all of a sample is one vector (rank 1 or more); channel: axis "
                   "1; spatial: all behind axis 1 (rank 3 or more). The lengths are a hidden "
                   "output. One float dtype. Source: MXNet's L2Normalization; a native kernel."))
register(OpDef("_backward_L2Normalization", L2NormalizationParams,
               inputs=("out_grad", "out", "norm"), outputs=("data_grad",),
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, compute_ex=compute_ex_backward, refuses=refuses,
               inplace={0: 0}, is_backward=True,
               no_gradient="there is no second-order gradient of it"))
