"""_fused_Deconvolution: a deconvolution, and what is done to its result, in one primitive."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.choose import data_candidates, first_supported
from ...op.context import OpContext
from ...op.packing import weights
from ...op.params import params_class
from ...op.registry import OpDef, register
from ...storage.desc import MemDesc, any_desc, default_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..floats import same_float_type, wide
from ..nn import deconvolution as plain
from ..nn.conv_geometry import conv_backward_data
from .params import PostOpParams, infer_with_operands, inplace, own_inputs, with_operands
from .post_ops import apply_chain, post_specs
from .run import choose, run


@params_class
class FusedDeconvolutionParams(plain.DeconvolutionParams, PostOpParams):
    """The layer's parameters and the post-ops."""


def compute(ctx: OpContext, p: FusedDeconvolutionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, w, *rest = (wide(value) for value in ins)
    if x.size:
        y = conv_backward_data(x, w, plain.geometry(p, x.shape), outs[0].shape)
    else:
        y = np.zeros(outs[0].shape, x.dtype)
    if not p.no_bias:
        y += rest.pop(0).reshape(-1, *(1,) * len(p.kernel))
    outs[0].write(apply_chain(p.chain, y, rest).astype(ins[0].dtype, copy=False))


def compute_ex(ctx: OpContext, p: FusedDeconvolutionParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, weight, operands = ins[0], ins[1], ins[own_inputs(p):]
    dtype, chain = data.dtype, p.chain
    shapes = [operand.shape for operand in operands]

    def build(in_place: bool) -> Primitive:
        bias = None if p.no_bias else default_desc(dtype, (p.num_filter,))
        make = partial(make_primitive, Kind.DECONVOLUTION, Direction.FORWARD_INFERENCE, bias=bias,
                       weights=any_desc(dtype, plain.native_dims(p, weight.shape)),
                       **plain.fields(p, data.shape))

        def one(src: MemDesc, dst: MemDesc) -> Primitive:
            if operands and dst.is_any:
                # the operands' layout is that of the result, which only oneDNN knows
                free = make(src=src, dst=dst)
                src, dst = free.src, free.dst
            return make(src=src, dst=dst,
                        post_ops=post_specs(chain, dst, dtype, shapes, in_place))
        return first_supported(partial(one, src, dst) for src, dst
                               in data_candidates(dtype, data.shape, outs[0].shape))
    fused = choose(ctx, ("Deconvolution.fused", p, data.shape, *shapes), build, chain, operands,
                   outs[0])
    prim = fused.prim
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, plain.swapped(p, prim.weights), p.num_group).as_desc(prim.weights)
    args: list[tuple[int, Any]] = [(Arg.SRC, get_data_reorder(data, prim.src, ctx.stream)),
                                   (Arg.WEIGHTS, w)]
    if not p.no_bias:
        args.append((Arg.BIAS, get_default(ins[2], ctx.stream)))
    run(ctx, fused, chain, operands, outs[0], args)


register(OpDef("_fused_Deconvolution", FusedDeconvolutionParams,
               inputs=with_operands(plain.input_names),
               infer_shape=infer_with_operands(plain.infer_shape), infer_type=same_float_type,
               compute=compute, compute_ex=compute_ex, refuses=plain.refuses, inplace=inplace,
               is_fused=True, no_gradient="it is for inference", per_sample=True,
               epilogue=plain.EPILOGUE, flops=plain.flops,
               doc="A deconvolution and what is done to its result.\n\n"
                   "Inputs are those of Deconvolution, then one operand for each binary post-op: "
                   "of the result's shape, or broadcast to it. Made by passes. Source: oneDNN "
                   "deconvolution with post-ops."))
