"""_fused_BatchNorm: batch normalisation with moving statistics, and what is done to its result."""

from __future__ import annotations

from functools import partial

from ..._array.layout import AnyArray, get_data, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.params import params_class
from ...op.registry import OpDef, register
from ...storage.desc import MemDesc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..floats import wide
from ..nn import batch_norm as plain
from .params import PostOpParams
from .post_ops import apply_chain, post_specs


@params_class
class FusedBatchNormParams(plain.BatchNormParams, PostOpParams):
    """BatchNorm's parameters and the post-ops, which are elementwise functions."""


def infer_shape(p: FusedBatchNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    made, found = plain.infer_shape(p, ins, [*outs, None, None])
    return made, found[:1]


def infer_type(p: FusedBatchNormParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    made, found = plain.infer_type(p, ins, [*outs, None, None])
    return made, found[:1]


def compute(ctx: OpContext, p: FusedBatchNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    y = apply_chain(p.chain, plain.normalized(p, wide(ins[0]), *ins[1:]), ())
    outs[0].write(y.astype(ins[0].dtype, copy=False))


def compute_ex(ctx: OpContext, p: FusedBatchNormParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, gamma, beta, mean, var = ins
    stream = ctx.stream
    given = get_data(data, stream).desc

    def make(own: MemDesc, native: MemDesc) -> tuple[Primitive, MemDesc]:
        return make_primitive(Kind.BATCH_NORM, Direction.FORWARD_INFERENCE, src=native, dst=native,
                              epsilon=p.eps, flags=plain.flags(p, False),
                              post_ops=post_specs(p.chain, native, FLOAT32, (), False)), own
    prim, own = ctx.primitive(
        ("BatchNorm.fused", p, given.id),
        lambda: first_supported(partial(make, *pair)
                                for pair in plain.layouts(p, data, given)))
    x = get_data_reorder(data, own, stream)
    args = [(Arg.SRC, x.as_desc(prim.src)), (Arg.SHIFT, get_default(beta, stream)),
            (Arg.MEAN, get_default(mean, stream)), (Arg.VARIANCE, get_default(var, stream))]
    if not p.fix_gamma:
        args.append((Arg.SCALE, get_default(gamma, stream)))
    with outs[0].open(own, stream, inplace_of=x) as y:
        ctx.run(prim, [*args, (Arg.DST, y.as_desc(prim.dst))])


register(OpDef("_fused_BatchNorm", FusedBatchNormParams,
               inputs=("data", "gamma", "beta"), aux=("moving_mean", "moving_var"),
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               compute_ex=compute_ex, refuses=plain.refuses, inplace={0: 0},
               ignores=plain.ignored, is_fused=True, no_gradient="it is for inference",
               per_sample=True, epilogue=plain.EPILOGUE,
               doc="BatchNorm with the moving statistics, and what is done to its result.\n\n"
                   "Inputs are those of BatchNorm. Made by passes. Source: oneDNN batch "
                   "normalization with post-ops."))
