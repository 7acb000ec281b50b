"""_fused_Pooling: pooling, and what is done to its result, in one primitive."""

from __future__ import annotations

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.params import params_class
from ...op.registry import OpDef, register
from ...storage.primitive import PostSpec, eltwise_post
from ..floats import same_float_type
from ..nn import pooling as plain
from ..nn.pool_onednn import PoolKernel, run_forward
from .params import PostOpParams
from .post_ops import ELTWISE, apply_chain


@params_class
class FusedPoolingParams(plain.PoolingParams, PostOpParams):
    """Pooling's parameters and the post-ops, which are elementwise functions."""


def compute(ctx: OpContext, p: FusedPoolingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    plain.write(p, outs[0], apply_chain(p.chain, plain.pooled(p, ins[0]), ()))


def compute_ex(ctx: OpContext, p: FusedPoolingParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    kernel = plain.kernel_of(p, ins[0].shape)
    assert isinstance(kernel, PoolKernel)
    specs: list[PostSpec] = []
    if kernel.scale != 1.0:
        specs.append(eltwise_post(ELTWISE["linear"][0], kernel.scale, 0.0))
    specs += [eltwise_post(ELTWISE[op.name][0], op.alpha, op.beta) for op in p.chain]
    run_forward(ctx, kernel, ins[0], outs[0], tuple(specs))


register(OpDef("_fused_Pooling", FusedPoolingParams, inputs=("data",),
               infer_shape=plain.infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=plain.refuses, is_fused=True,
               no_gradient="it is for inference", per_sample=True, epilogue=plain.EPILOGUE,
               doc="Pooling and what is done to its result.\n\n"
                   "data as in Pooling. Made by passes. Source: oneDNN pooling with post-ops."))
