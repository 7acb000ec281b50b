"""LayerNorm: rows along one axis brought to mean beta and deviation gamma, by their own values."""

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
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, normalize_axis
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc
from ...storage.kernels import norm as kernels
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..floats import need_float_types, wide
from .layer_norm_curves import gradient_backward
from .shape_rules import expect

FLAGS = lib.NDRT_USE_SCALE | lib.NDRT_USE_SHIFT


@params_class
class LayerNormParams(Params):
    axis: int = integer(-1, doc="the axis that is normalized")
    eps: float = number(1e-5, low=0.0, doc="added to the variance")
    output_mean_var: bool = boolean(False, doc="mean and sqrt(variance + eps) are outputs")


def infer_shape(p: LayerNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    vector = merge(ins[1], ins[2], "lengths of gamma and beta")
    if data is None:
        stats = merge(outs[1], outs[2], "shapes of mean and std")
        return [None, vector, vector], [None, stats, stats]
    if not data:
        raise ShapeError("data has shape (), expected rank 1 or more")
    axis = normalize_axis(p.axis, len(data), "axis")
    vector = expect(vector, (data[axis],), "gamma or beta", f"data {data}, axis={p.axis}")
    data = (*data[:axis], vector[0], *data[axis + 1:])
    stats = (*data[:axis], 1, *data[axis + 1:])
    for shape in outs[1:]:
        stats = expect(shape, stats, "mean or std", f"data {data}, axis={p.axis}")
    data = tuple(d if i == axis else s for i, (d, s) in enumerate(zip(data, stats, strict=True)))
    return [data, vector, vector], [data, stats, stats]


def infer_type(p: LayerNormParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, *outs])
    need_float_types([one])
    return [one] * len(ins), [one] * len(outs)


def _column(p: LayerNormParams, vector: AnyArray, rank: int) -> AnyArray:
    axis = normalize_axis(p.axis, rank)
    return vector.reshape(tuple(-1 if i == axis else 1 for i in range(rank)))


def compute(ctx: OpContext, p: LayerNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, gamma, beta = (wide(value) for value in ins)
    dtype = ins[0].dtype
    if not x.shape[p.axis]:
        mean = std = np.full(outs[1].shape, np.nan, x.dtype)
    else:
        mean = x.mean(axis=p.axis, keepdims=True)
        std = np.sqrt(x.var(axis=p.axis, keepdims=True) + x.dtype.type(np.float32(p.eps)))
    y = (x - mean) / std * _column(p, gamma, x.ndim) + _column(p, beta, x.ndim)
    outs[0].write(y.astype(dtype, copy=False))
    outs[1].write(mean.astype(dtype, copy=False))
    outs[2].write(std.astype(dtype, copy=False))


def refuses(p: LayerNormParams, ins: list[NDArray]) -> str | None:
    if not ins[0].size:
        return "there is nothing to normalize"
    return need_float32(*ins)


def _inner_axis(p: LayerNormParams, data: Shape) -> tuple[int, int, int] | None:
    """Sizes before, at and behind an axis that is not the last one, which oneDNN has no kernel for.
    """
    axis = p.axis % len(data)
    if axis == len(data) - 1:
        return None
    return prod(data[:axis]), data[axis], prod(data[axis + 1:])


def _rows(data: Shape) -> tuple[MemDesc, MemDesc, MemDesc]:
    """Layouts of the data as a matrix, of one number a row, and of one a column."""
    count = prod(data[:-1])
    return (default_desc(FLOAT32, (count, data[-1])), default_desc(FLOAT32, (count,)),
            default_desc(FLOAT32, data[-1:]))


def compute_ex(ctx: OpContext, p: LayerNormParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data = ins[0]
    stream = ctx.stream
    own, stat = default_desc(FLOAT32, data.shape), default_desc(FLOAT32, outs[1].shape)
    x = get_data_reorder(data, own, stream)
    gamma, beta = [get_default(value, stream) for value in ins[1:]]
    axes = _inner_axis(p, data.shape)
    with (outs[0].open(own, stream, inplace_of=x) as y, outs[1].open(stat, stream) as mean,
          outs[2].open(stat, stream) as std):
        if axes is None:
            ctx.kernel(kernels.norm_last(
                out=y, data=x, gamma=gamma, beta=beta, mean=mean, std=std,
                rows=prod(data.shape[:-1]), width=data.shape[-1], epsilon=p.eps))
            return
        outer, length, inner = axes
        ctx.kernel(kernels.norm_axis(
            out=y, data=x, gamma=gamma, beta=beta, mean=mean, std=std, outer=outer, length=length,
            inner=inner, epsilon=p.eps))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, gradients of the outputs mean and std go nowhere
    data, gamma, _ = node.inputs
    _, mean, std = node.outputs
    return emit("_backward_LayerNorm", node.params, out_grads[0], data, gamma, mean, std)


def infer_shape_backward(p: LayerNormParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    known = [merge(ins[0], ins[1]), ins[2], merge(outs[1], outs[2])]
    (data, vector, _), (_, stats, _) = infer_shape(p, known, [outs[0], ins[3], ins[4]])
    return [data, data, vector, stats, stats], [data, vector, vector]


def compute_backward(ctx: OpContext, p: LayerNormParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x, gamma, mean, std = (wide(value) for value in ins)
    dtype = ins[1].dtype
    normal = (x - mean) / std
    slope = dy * _column(p, gamma, x.ndim)
    if x.size:
        dx = (slope - slope.mean(axis=p.axis, keepdims=True)
              - normal * (slope * normal).mean(axis=p.axis, keepdims=True)) / std
    else:
        dx = np.zeros_like(x)
    others = tuple(i for i in range(x.ndim) if i != p.axis % x.ndim)
    outs[0].write(dx.astype(dtype, copy=False))
    outs[1].write((dy * normal).sum(axis=others, dtype=dy.dtype).astype(dtype, copy=False))
    outs[2].write(dy.sum(axis=others, dtype=dy.dtype).astype(dtype, copy=False))


def refuses_backward(p: LayerNormParams, ins: list[NDArray]) -> str | None:
    return refuses(p, ins[1:2]) or need_float32(*ins)


def compute_ex_backward(ctx: OpContext, p: LayerNormParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy, data, gamma, mean, std = ins
    stream = ctx.stream
    inner = _inner_axis(p, data.shape)
    if inner is not None:
        _axis_backward(ctx, ins, outs, inner)
        return
    matrix, row, vector = _rows(data.shape)

    def build() -> Primitive:
        return make_primitive(Kind.LAYER_NORM, Direction.BACKWARD, src=matrix, diff_src=matrix,
                              diff_dst=matrix, flags=FLAGS)
    # without eps, which the deviations have in them
    prim = ctx.primitive(("LayerNorm.backward", matrix.id), build)
    square = ctx.primitive(("LayerNorm.square", row.id), lambda: make_primitive(
        Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_SQUARE, src=row, dst=row))
    own = default_desc(FLOAT32, data.shape)
    var = stream.scratch(row)
    ctx.run(square, ((Arg.SRC, get_default(std, stream).as_desc(row)), (Arg.DST, var)))
    grad = get_data_reorder(dy, own, stream)
    scale = get_default(gamma, stream).as_desc(vector)
    # oneDNN asks for a shift, whose values no gradient depends on
    args = [(Arg.SRC, get_data_reorder(data, own, stream).as_desc(matrix)),
            (Arg.DIFF_DST, grad.as_desc(matrix)), (Arg.SCALE, scale), (Arg.SHIFT, scale),
            (Arg.MEAN, get_default(mean, stream).as_desc(row)), (Arg.VARIANCE, var)]
    with (outs[0].open(own, stream, inplace_of=grad) as dx,
          outs[1].open(vector, stream) as d_gamma, outs[2].open(vector, stream) as d_beta):
        ctx.run(prim, [*args, (Arg.DIFF_SRC, dx.as_desc(matrix)), (Arg.DIFF_SCALE, d_gamma),
                       (Arg.DIFF_SHIFT, d_beta)])


def _axis_backward(ctx: OpContext, ins: list[NDArray], outs: list[Output],
                   dims: tuple[int, int, int]) -> None:
    stream, (outer, length, inner) = ctx.stream, dims
    own, vector = default_desc(FLOAT32, ins[1].shape), default_desc(FLOAT32, ins[2].shape)
    dy, x = (get_data_reorder(value, own, stream) for value in ins[:2])
    gamma, mean, std = (get_default(value, stream) for value in ins[2:])
    # first, as the gradient of the data may take the memory of dy
    if outs[1].requested or outs[2].requested:
        with outs[1].open(vector, stream) as d_gamma, outs[2].open(vector, stream) as d_beta:
            ctx.kernel(kernels.norm_axis_vectors(
                dgamma=d_gamma, dbeta=d_beta, dy=dy, data=x, mean=mean, std=std, outer=outer,
                length=length, inner=inner))
    if outs[0].requested:
        with outs[0].open(own, stream, inplace_of=dy) as dx:
            ctx.kernel(kernels.norm_axis_grad(
                dx=dx, dy=dy, data=x, gamma=gamma, mean=mean, std=std, outer=outer, length=length,
                inner=inner))


register(OpDef("LayerNorm", LayerNormParams, inputs=("data", "gamma", "beta"),
               outputs=("output", "mean", "std"),
               visible_outputs=lambda p: 3 if p.output_mean_var else 1,
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, inplace={0: 0},
               numbers=("eps",),
               doc="Layer normalization: (x - mean) / sqrt(variance + eps) * gamma + beta along "
                   "one axis.\n\n"
                   "data of any rank, gamma and beta (length of the axis,). mean and std (data's "
                   "shape with 1 at the axis) are hidden outputs, visible with output_mean_var; "
                   "gradients do not flow through them. One float dtype. Source: Ba et al. 2016; "
                   "MXNet's LayerNorm; native kernels."))
register(OpDef("_backward_LayerNorm", LayerNormParams,
               inputs=("out_grad", "data", "gamma", "mean", "std"),
               outputs=("data_grad", "gamma_grad", "beta_grad"),
               infer_shape=infer_shape_backward, infer_type=infer_type,
               compute=compute_backward, compute_ex=compute_ex_backward,
               refuses=refuses_backward, inplace={0: 0},
               sums_gradient=True,
               is_backward=True,
               gradient=gradient_backward))
# mean and std count as functions of data there
