"""The gradient of BatchNorm, which moves the moving statistics, too."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...native import lib
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.registry import OpDef, register
from ...storage.desc import MemDesc, default_desc
from ...storage.kernels import elementwise
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..floats import wide
from ..tensor.functions import on_memory
from .batch_norm import (
    BatchNormParams,
    axes_of,
    flags_of,
    infer_shape,
    infer_type,
    layouts_of,
    scale_of,
)


def infer_shape_backward(p: BatchNormParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data, *stats), _ = infer_shape(p, [merge(ins[0], ins[1]), ins[2], outs[2], *ins[5:]],
                                    [outs[0], ins[3], ins[4]])
    one = stats[0]
    return [data, data, *[one] * 5], [data, one, one]


def infer_type_backward(p: BatchNormParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    (data, *stats), _ = infer_type(p, [merge_types(ins[:2]), ins[2], outs[2], *ins[5:]],
                                   [outs[0], ins[3], ins[4]])
    one = stats[0]
    return [data, data, *[one] * 5], [data, one, one]


def mutated_backward(p: BatchNormParams) -> tuple[int, ...]:
    """The moving statistics: training moves them once, in the backward."""
    return () if p.use_global_stats else (5, 6)


def ignored_backward(p: BatchNormParams) -> tuple[int, ...]:
    gamma = (2,) if p.fix_gamma else ()
    return (*gamma, 3, 4) if p.use_global_stats else gamma


def compute_backward(ctx: OpContext, p: BatchNormParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x = wide(ins[0]), wide(ins[1])
    gamma, mean, var, moving_mean, moving_var = ins[2:]
    axes, batch = axes_of(p, x.shape), p.uses_batch(ctx.is_train)
    if not batch:
        mean, var = moving_mean, moving_var
    scale = scale_of(p, var)
    normal = (x - mean.reshape(axes.column)) * scale.reshape(axes.column)
    d_beta = dy.sum(axis=axes.summed, dtype=dy.dtype)
    d_gamma = (dy * normal).sum(axis=axes.summed, dtype=dy.dtype)
    slope = (scale if p.fix_gamma else scale * gamma).reshape(axes.column)
    if batch and axes.size:
        count = dy.dtype.type(axes.size)
        dx = slope * (dy - (d_beta / count).reshape(axes.column)
                      - normal * (d_gamma / count).reshape(axes.column))
    else:
        dx = slope * dy
    outs[0].write(dx.astype(ins[1].dtype, copy=False))
    outs[1].write(np.zeros_like(gamma) if p.fix_gamma else d_gamma.astype(gamma.dtype, copy=False))
    outs[2].write(d_beta.astype(gamma.dtype, copy=False))
    if batch and axes.size:
        # MXNet keeps it in float32, whatever the data's width
        keep = float(np.float32(p.momentum))
        moving_mean[...] = keep * moving_mean + (1 - keep) * mean
        moving_var[...] = keep * moving_var + (1 - keep) * var


def refuses_backward(p: BatchNormParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _epsilon(p: BatchNormParams, own: MemDesc) -> float:
    """What the primitive of the backward adds to the variance itself.

    0 where it is given the variance with eps in it, so that one primitive serves any eps: not
    where channels of padding have variance 0.
    """
    return p.eps if own.is_padded else 0.0


def _shifted(ctx: OpContext, p: BatchNormParams, var: Mem, epsilon: float) -> Mem:
    """The variance as a primitive takes it that adds `epsilon`: together they add eps."""
    if epsilon == p.eps:
        return var
    made = ctx.stream.scratch(var.desc)
    on_memory(ctx, lib.NDRT_FUNCTION_ADD, var, made, p.eps)
    return made


def compute_ex_backward(ctx: OpContext, p: BatchNormParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    out_grad, data, gamma = ins[:3]
    stream, batch = ctx.stream, p.uses_batch(ctx.is_train)
    given = get_data(data, stream).desc
    vector = default_desc(FLOAT32, gamma.shape)
    needed = outs[0].requested or outs[2].requested or (outs[1].requested and not p.fix_gamma)

    def make(own: MemDesc, native: MemDesc) -> tuple[Primitive, MemDesc]:
        return make_primitive(Kind.BATCH_NORM, Direction.BACKWARD, src=native, diff_src=native,
                              diff_dst=native, epsilon=_epsilon(p, own),
                              flags=flags_of(p, batch)), own
    prim, own = ctx.primitive(
        ("BatchNorm.backward", _epsilon(p, given), flags_of(p, batch), p.axis, given.id),
        lambda: first_supported(partial(make, *pair) for pair in layouts_of(p, data, given)))
    # those that the forward used
    mean, var = (get_default(one, stream) for one in (ins[3:5] if batch else ins[5:7]))
    if needed:
        x = get_data_reorder(data, own, stream).as_desc(prim.src)
        dy = get_data_reorder(out_grad, own, stream)
        args = [(Arg.SRC, x), (Arg.DIFF_DST, dy.as_desc(prim.diff_dst)), (Arg.MEAN, mean),
                (Arg.VARIANCE, _shifted(ctx, p, var, _epsilon(p, own)))]
        if not p.fix_gamma:
            args.append((Arg.SCALE, get_default(gamma, stream)))
        with (outs[0].open(own, stream, inplace_of=dy) as dx,
              outs[2].open(vector, stream) as d_beta):
            args += [(Arg.DIFF_SRC, dx.as_desc(prim.diff_src)), (Arg.DIFF_SHIFT, d_beta)]
            if p.fix_gamma:
                ctx.run(prim, args)
            else:
                with outs[1].open(vector, stream) as d_gamma:
                    ctx.run(prim, [*args, (Arg.DIFF_SCALE, d_gamma)])
    if p.fix_gamma and outs[1].requested:
        with outs[1].open(vector, stream) as zero:
            ctx.kernel(elementwise.zero(out=zero, nbytes=vector.nbytes))
    if batch:
        for moving, now in ((ins[5], mean), (ins[6], var)):
            moving._chunk.reorder_to_default(stream)
            ctx.kernel(elementwise.blend(out=get_default(moving, stream), data=now,
                                         n=vector.nelems, a=p.momentum, b=1 - p.momentum))


register(OpDef("_backward_BatchNorm", BatchNormParams,
               inputs=("out_grad", "data", "gamma", "mean", "var"),
               aux=("moving_mean", "moving_var"),
               outputs=("data_grad", "gamma_grad", "beta_grad"),
               infer_shape=infer_shape_backward, infer_type=infer_type_backward,
               compute=compute_backward, compute_ex=compute_ex_backward,
               refuses=refuses_backward, inplace={0: 0}, mutates=mutated_backward,
               ignores=ignored_backward, is_backward=True,
               no_gradient="there is no second-order gradient of it"))
