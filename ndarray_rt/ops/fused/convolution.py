"""_fused_Convolution: a convolution, and what is done to its result, in one primitive."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ..._array.layout import AnyArray, get_data_reorder, get_default, grouped_dims
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.choose import convolution_kernel, data_candidates, first_supported
from ...op.context import OpContext
from ...op.packing import weights
from ...op.params import params_class
from ...op.registry import OpDef, register
from ...storage.desc import MemDesc, any_desc, channels_last_desc, default_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..floats import same_float_type, wide
from ..nn import convolution as plain
from ..nn.column_convolution import along_rows, as_rows, is_column, turned
from ..nn.conv_geometry import conv_forward
from ..nn.kept_products import convolve_pixels
from ..nn.pointwise_convolution import (
    as_matrices,
    is_product,
    matrix_dims,
    outward,
    product,
)
from ..nn.product_weights import weight_layouts
from ..nn.window_kernels import convolve_windows
from .image_convolution import convolve_images
from .params import PostOpParams, infer_with_operands, inplace, own_inputs, with_operands
from .post_ops import apply_chain, post_specs
from .run import choose, finish_of, run


@params_class
class FusedConvolutionParams(plain.ConvolutionParams, PostOpParams):
    """The layer's parameters and the post-ops."""


def compute(ctx: OpContext, p: FusedConvolutionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, w, *rest = (wide(value) for value in ins)
    y = conv_forward(x, w, p.geometry(), outs[0].shape[2:])
    if not p.no_bias:
        y += rest.pop(0).reshape(-1, *(1,) * len(p.kernel))
    outs[0].write(apply_chain(p.chain, y, rest).astype(ins[0].dtype, copy=False))


def compute_ex(ctx: OpContext, p: FusedConvolutionParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, weight, operands = ins[0], ins[1], ins[own_inputs(p):]
    dtype, chain, out = data.dtype, p.chain, outs[0].shape
    shapes = [operand.shape for operand in operands]
    geo, bias = p.geometry(), None if p.no_bias else ins[2]
    finish = finish_of(chain, operands, out)
    if finish is not None and (
            convolve_pixels(ctx, geo, data, weight, bias, outs[0], finish)
            or convolve_windows(ctx, geo, data, weight, bias, outs[0], finish)):
        return
    if convolve_images(ctx, p, chain, data, weight, bias, operands, outs[0]):
        return

    def build(in_place: bool) -> Primitive:
        make = partial(make_primitive, Kind.CONVOLUTION, Direction.FORWARD_INFERENCE,
                       weights=any_desc(dtype, grouped_dims(weight.shape, p.num_group)),
                       bias=None if bias is None else default_desc(dtype, (p.num_filter,)),
                       prefer=convolution_kernel(p.num_group, data.shape, out),
                       **plain.fields(p))

        def one(src: MemDesc, dst: MemDesc) -> Primitive:
            if operands and dst.is_any:
                # the operands' layout is that of the result, which only oneDNN knows
                free = make(src=src, dst=dst)
                src, dst = free.src, free.dst
            return make(src=src, dst=dst,
                        post_ops=post_specs(chain, dst, dtype, shapes, in_place))

        def as_product(w: MemDesc) -> Primitive:
            matrices = as_matrices(shapes, out)
            dst = default_desc(dtype, matrix_dims(out))
            return product(Direction.FORWARD_INFERENCE, data.shape, w, dtype, not p.no_bias,
                           post_specs(chain, dst, dtype, matrices, in_place))
        def as_column() -> Primitive:
            dst = channels_last_desc(dtype, turned(out))
            return along_rows(Direction.FORWARD_INFERENCE, data.shape, weight.shape, out, dtype,
                              not p.no_bias, plain.fields(p),
                              post_specs(chain, dst, dtype, as_rows(shapes, out), in_place))
        ways: Iterable[Callable[[], Primitive]] = (
            partial(one, src, dst) for src, dst in data_candidates(
                dtype, data.shape, out, family=ctx.family))
        if is_product(geo, data.shape, out, ctx.family):
            products = [partial(as_product, w) for w in weight_layouts(weight, weight.shape)]
            ways = itertools.chain(products, ways)
        if is_column(geo, data.shape, out, ctx.family):
            ways = itertools.chain([as_column], ways)
        return first_supported(ways)
    seen = channels_last_desc(dtype, out)
    fused = choose(ctx, ("Convolution.fused", p, data.shape, *shapes), build, chain, operands,
                   outs[0], seen)
    prim = fused.prim
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, prim.weights, p.num_group)
    src = get_data_reorder(data, outward(prim.src, dtype, data.shape), ctx.stream)
    args: list[tuple[int, Any]] = [(Arg.SRC, src.as_desc(prim.src)), (Arg.WEIGHTS, w)]
    if bias is not None:
        args.append((Arg.BIAS, get_default(bias, ctx.stream)))
    run(ctx, fused, chain, operands, outs[0], args, seen)


register(OpDef("_fused_Convolution", FusedConvolutionParams,
               inputs=with_operands(plain.input_names),
               infer_shape=infer_with_operands(plain.infer_shape), infer_type=same_float_type,
               compute=compute, compute_ex=compute_ex, refuses=plain.refuses, inplace=inplace,
               is_fused=True, no_gradient="it is for inference", per_sample=True,
               epilogue=plain.EPILOGUE, flops=plain.flops,
               doc="A convolution and what is done to its result.\n\n"
                   "Inputs are those of Convolution, then one operand for each binary post-op: "
                   "of the result's shape, or broadcast to it. Made by passes. Source: oneDNN "
                   "convolution with post-ops."))
