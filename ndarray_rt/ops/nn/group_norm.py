"""GroupNorm and InstanceNorm: groups of channels, or single ones, normalized in each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import norm as kernels
from ..floats import same_float_type, wide
from .shape_rules import expect

# floats that the native kernels note of a row on the way back
SLOPE = 6


@params_class
class GroupNormParams(Params):
    num_groups: int = integer(1, low=1, doc="groups of neighbouring channels; gamma and beta have "
                                            "one number for each")
    eps: float = number(1e-5, low=0.0, doc="added to the variance")
    output_mean_var: bool = boolean(False, doc="mean and sqrt(variance + eps) are outputs")


@params_class
class InstanceNormParams(Params):
    eps: float = number(1e-3, low=0.0, doc="added to the variance")


class Family(NamedTuple):
    """One member: how many groups data of a known shape has in each sample."""

    name: str
    groups: Callable[[Any, Shape], int]


def _groups(p: GroupNormParams, data: Shape) -> int:
    if data[1] != -1 and data[1] % p.num_groups:
        raise ShapeError(f"data {data} has {data[1]} channels, no multiple of num_groups "
                         f"{p.num_groups}")
    return p.num_groups


def infer_shape(family: Family, p: Any, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    vector = merge(ins[1], ins[2], "lengths of gamma and beta")
    stats = merge(outs[1], outs[2], "shapes of mean and std")
    if data is None:
        return [None, vector, vector], [None, stats, stats]
    if len(data) < 3:
        raise ShapeError(f"data has shape {data}, expected rank 3 or more")
    vector = expect(vector, (family.groups(p, data),), "gamma or beta", f"data {data}")
    stats = expect(stats, (data[0], vector[0]), "mean or std", f"data {data}")
    if family.name == "InstanceNorm":
        data = (stats[0], vector[0], *data[2:])
    else:
        data = (stats[0], *data[1:])
    return [data, vector, vector], [data, stats, stats]


def _rows(data: Shape, vector: Shape) -> tuple[int, int, int]:
    """(samples, groups, elements of a group)."""
    size = data[0] * vector[0]
    return data[0], vector[0], prod(data) // size if size else 0


def compute(ctx: OpContext, p: Any, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    data, gamma, beta = (wide(value) for value in ins)
    dtype = ins[0].dtype
    x: AnyArray = data.reshape(_rows(data.shape, gamma.shape))
    if x.shape[2]:
        mean = x.mean(axis=2, keepdims=True)
        std = np.sqrt(x.var(axis=2, keepdims=True) + x.dtype.type(np.float32(p.eps)))
    else:
        mean = std = np.full((*x.shape[:2], 1), np.nan, x.dtype)
    y = (x - mean) / std * gamma[:, None] + beta[:, None]
    outs[0].write(y.reshape(data.shape).astype(dtype, copy=False))
    outs[1].write(mean[..., 0].astype(dtype, copy=False))
    outs[2].write(std[..., 0].astype(dtype, copy=False))


def refuses(p: Any, ins: list[NDArray]) -> str | None:
    if not ins[0].size:
        return "there is nothing to normalize"
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output]) -> None:
    data, gamma, beta = ins
    stream = ctx.stream
    samples, groups, width = _rows(data.shape, gamma.shape)
    own = default_desc(FLOAT32, data.shape)
    stat = default_desc(FLOAT32, (samples, groups))
    x = get_data_reorder(data, own, stream)
    scale, shift = get_default(gamma, stream), get_default(beta, stream)
    with (outs[0].open(own, stream, inplace_of=x) as y, outs[1].open(stat, stream) as mean,
          outs[2].open(stat, stream) as std):
        ctx.kernel(kernels.norm_rows(
            out=y, data=x, gamma=scale, beta=shift, mean=mean, std=std, rows=samples * groups,
            width=width, vectors=groups, epsilon=p.eps))


def gradient(family: Family, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, gradients of the outputs mean and std go nowhere
    data, gamma, _ = node.inputs
    _, mean, std = node.outputs
    return emit(f"_backward_{family.name}", node.params, out_grads[0], data, gamma, mean, std)


def infer_shape_backward(family: Family, p: Any, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    known = [merge(ins[0], ins[1]), ins[2], merge(outs[1], outs[2])]
    (data, vector, _), (_, stats, _) = infer_shape(family, p, known, [outs[0], ins[3], ins[4]])
    return [data, data, vector, stats, stats], [data, vector, vector]


def compute_backward(ctx: OpContext, p: Any, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x, gamma, mean, std = (wide(value) for value in ins)
    shape, dtype = _rows(x.shape, gamma.shape), ins[1].dtype
    dy, x = dy.reshape(shape), x.reshape(shape)
    normal = (x - mean[..., None]) / std[..., None]
    d_gamma, d_beta = (dy * normal).sum(axis=2), dy.sum(axis=2)
    slope = (gamma / std)[..., None]
    count = x.dtype.type(max(1, shape[2]))
    dx = slope * (dy - d_beta[..., None] / count - normal * d_gamma[..., None] / count)
    outs[0].write(dx.reshape(ins[1].shape).astype(dtype, copy=False))
    outs[1].write(d_gamma.sum(axis=0).astype(dtype, copy=False))
    outs[2].write(d_beta.sum(axis=0).astype(dtype, copy=False))


def refuses_backward(p: Any, ins: list[NDArray]) -> str | None:
    return refuses(p, ins[1:2]) or need_float32(*ins)


def compute_ex_backward(ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output]) -> None:
    out_grad, data, gamma, mean, std = ins
    stream = ctx.stream
    samples, groups, width = _rows(data.shape, gamma.shape)
    rows = samples * groups
    own, vector = default_desc(FLOAT32, data.shape), default_desc(FLOAT32, gamma.shape)
    x, dy = get_data_reorder(data, own, stream), get_data_reorder(out_grad, own, stream)
    slopes = stream.scratch(default_desc(FLOAT32, (rows, SLOPE)))
    ctx.kernel(kernels.row_slopes(
        slopes=slopes, dy=dy, data=x, gamma=get_default(gamma, stream),
        mean=get_default(mean, stream), std=get_default(std, stream), rows=rows, width=width,
        vectors=groups))
    if outs[1].requested or outs[2].requested:
        with (outs[1].open(vector, stream) as d_gamma, outs[2].open(vector, stream) as d_beta):
            ctx.kernel(kernels.sum_slopes(dgamma=d_gamma, dbeta=d_beta, slopes=slopes, rows=rows,
                                          width=width, vectors=groups))
    if outs[0].requested:
        with outs[0].open(own, stream, inplace_of=dy) as dx:
            ctx.kernel(kernels.norm_rows_grad(dx=dx, dy=dy, data=x, slopes=slopes, rows=rows,
                                              width=width, vectors=groups))


def _register(family: Family, params: type[Params], visible: Any, doc: str) -> None:
    register(OpDef(family.name, params, inputs=("data", "gamma", "beta"),
                   outputs=("output", "mean", "std"), visible_outputs=visible,
                   infer_shape=partial(infer_shape, family), infer_type=same_float_type,
                   compute=compute, compute_ex=compute_ex, refuses=refuses,
                   gradient=partial(gradient, family), inplace={0: 0}, numbers=("eps",),
                   doc=doc))
    register(OpDef(f"_backward_{family.name}", params,
                   inputs=("out_grad", "data", "gamma", "mean", "std"),
                   outputs=("data_grad", "gamma_grad", "beta_grad"),
                   infer_shape=partial(infer_shape_backward, family), infer_type=same_float_type,
                   compute=compute_backward, compute_ex=compute_ex_backward,
                   refuses=refuses_backward, inplace={0: 0}, is_backward=True,
                   no_gradient="there is no second-order gradient of it"))


_register(Family("GroupNorm", _groups), GroupNormParams,
          lambda p: 3 if p.output_mean_var else 1,
          "Group normalization: (x - mean) / sqrt(variance + eps) * gamma + beta by groups of "
          "channels.\n\n"
          "data (N, C, ...) of rank 3 or more, C a multiple of num_groups; gamma and beta "
          "(num_groups,), one number for each group. mean and std (N, num_groups) are hidden "
          "outputs, visible with output_mean_var; gradients do not flow through them. One float "
          "dtype. Source: Wu and He 2018; MXNet's GroupNorm; a native kernel.")
_register(Family("InstanceNorm", lambda p, data: data[1]), InstanceNormParams, 1,
          "Instance normalization: (x - mean) / sqrt(variance + eps) * gamma + beta for each "
          "channel of each sample.\n\n"
          "data (N, C, ...) of rank 3 or more, gamma and beta (C,). One float dtype. Source: "
          "Ulyanov et al. 2016; MXNet's InstanceNorm; a native kernel.")
