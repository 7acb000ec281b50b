"""Deconvolution: the gradient of a convolution for its data, as a layer; 1-D to 3-D, groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default, get_weights, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.choose import data_candidates, first_supported
from ...op.context import OpContext
from ...op.epilogue import AffineFold, Epilogue, whole_or_channels
from ...op.infer import ShapeList, merge, merge_dim, need_rank, same_type
from ...op.packing import weights
from ...op.params import Params, boolean, integer, optional_choice, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, any_desc, default_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..floats import wide
from ..fused.params import PostOpParams, own_inputs, with_post_ops
from ..fused.post_ops import apply_chain, chain_of_params, post_specs
from ..fused.run import choose, run
from ..terms import product_gradient
from .conv_geometry import (
    Geometry,
    conv_backward_data,
    conv_backward_weights,
    conv_forward,
    filled,
)
from .shape_rules import expect


@params_class
class DeconvolutionParams(Params):
    kernel: tuple[int, ...] = shape(low=1, doc="window: (w,), (h, w) or (d, h, w)")
    stride: tuple[int, ...] = shape((), low=1, doc="distance of the places that one element of "
                                                   "data spreads from; default 1s")
    dilate: tuple[int, ...] = shape((), low=1, doc="distance of kernel elements; default 1s")
    pad: tuple[int, ...] = shape((), low=0, doc="cut off at both ends of an axis; default 0s")
    adj: tuple[int, ...] = shape((), low=0, doc="more at the end of an axis, less than stride; "
                                                "default 0s")
    target_shape: tuple[int, ...] = shape((), low=0, doc="spatial shape of the output; pad and "
                                                         "adj then follow from it")
    num_filter: int = integer(low=1, doc="output channels")
    num_group: int = integer(1, low=1, doc="groups of channels treated apart")
    no_bias: bool = boolean(True, doc="no bias is added")
    layout: str | None = optional_choice("NCW", "NCHW", "NCDHW",
                                         doc="order of the axes as the user sees them")


@params_class
class FusedDeconvolutionParams(DeconvolutionParams, PostOpParams):
    """The layer's parameters and the post-ops."""


def input_names(p: DeconvolutionParams) -> tuple[str, ...]:
    return ("data", "weight") if p.no_bias else ("data", "weight", "bias")


@lru_cache(maxsize=1024)
def window(p: DeconvolutionParams, spatial: Shape) -> Geometry:
    """The convolution that leads from the output back to data of these spatial dims.

    Padding at the end is smaller by adj, and may be below 0. ShapeError when parameters disagree.
    """
    rank = len(p.kernel)
    stride = filled(p.stride, rank, 1, "stride", p.kernel)
    dilate = filled(p.dilate, rank, 1, "dilate", p.kernel)
    if any(p.target_shape):
        target = filled(p.target_shape, rank, 0, "target_shape", p.kernel)
        full = [-1 if d == -1 else s * (d - 1) + dl * (k - 1) + 1
                for d, s, dl, k in zip(spatial, stride, dilate, p.kernel, strict=True)]
        if any(f < t for f, t in zip(full, target, strict=True) if f != -1):
            raise ShapeError(f"target_shape {p.target_shape} is larger than the {tuple(full)} that "
                             f"spatial dims {spatial} can reach")
        excess = [0 if f == -1 else f - t for f, t in zip(full, target, strict=True)]
        pad, adj = tuple((e + 1) // 2 for e in excess), tuple(e % 2 for e in excess)
        origin = f" (from target_shape {p.target_shape} and spatial dims {spatial})"
    else:
        pad = filled(p.pad, rank, 0, "pad", p.kernel)
        adj = filled(p.adj, rank, 0, "adj", p.kernel)
        origin = ""
    if any(a >= s for a, s in zip(adj, stride, strict=True)):
        raise ShapeError(f"adj {adj}{origin} is not smaller than stride {stride}")
    end = tuple(b - a for a, b in zip(adj, pad, strict=True))
    return Geometry(p.kernel, stride, dilate, pad, end, p.num_group)


def output_dims(p: DeconvolutionParams, spatial: Shape) -> Shape:
    """Spatial dims of the output; -1 stays unknown."""
    geo = window(p, spatial)
    known_target = p.target_shape if any(p.target_shape) else (-1,) * len(p.kernel)
    made = []
    for axis, dim in enumerate(spatial):
        if dim == -1:
            made.append(known_target[axis])
            continue
        size = (geo.stride[axis] * (dim - 1) + geo.extent(axis) - geo.pad[axis]
                - geo.pad_end[axis])
        if size < 0:
            raise ShapeError(f"pad {geo.pad} cuts off more than there is of spatial axis {axis} "
                             f"of {spatial} with kernel {p.kernel}, stride {geo.stride}")
        made.append(size)
    return tuple(made)


def infer_shape(p: DeconvolutionParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    rank = len(p.kernel)
    if not 1 <= rank <= 3:
        raise ShapeError(f"kernel {p.kernel} has {rank} axes, expected 1 to 3")
    data = ins[0]
    need_rank(data, (rank + 2,), "data")
    if p.num_filter % p.num_group:
        raise ShapeError(f"num_filter {p.num_filter} is no multiple of num_group {p.num_group}")
    channels = -1 if data is None else data[1]
    if channels != -1 and channels % p.num_group:
        raise ShapeError(f"data {data} has {channels} channels, "
                         f"no multiple of num_group {p.num_group}")
    implied = f"data {data}, num_filter={p.num_filter}, num_group={p.num_group}"
    weight = expect(ins[1], (channels, p.num_filter // p.num_group, *p.kernel), "weight", implied)
    made: ShapeList = [data, weight]
    if not p.no_bias:
        made.append(expect(ins[2], (p.num_filter,), "bias", implied))
    if data is None:
        return made, [outs[0]]
    made[0] = data = (data[0], weight[0], *data[2:])
    out = (data[0], p.num_filter, *output_dims(p, data[2:]))
    merged = merge(outs[0], out, "output shapes")
    if merged is not None:
        made[0] = (merge_dim(data[0], merged[0]), *data[1:])
    return made, [merged]


def geometry(p: DeconvolutionParams, data: Shape) -> Geometry:
    """For numpy: what adj adds behind the data needs no padding."""
    geo = window(p, data[2:])
    return geo._replace(pad_end=tuple(max(0, end) for end in geo.pad_end))


def compute(ctx: OpContext, p: DeconvolutionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, w, *rest = (wide(value) for value in ins)
    if x.size:
        y = conv_backward_data(x, w, geometry(p, x.shape), outs[0].shape)
    else:
        y = np.zeros(outs[0].shape, x.dtype)
    if not p.no_bias:
        y += rest.pop(0).reshape(-1, *(1,) * len(p.kernel))
    outs[0].write(apply_chain(chain_of_params(p), y, rest).astype(ins[0].dtype, copy=False))


def refuses(p: DeconvolutionParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def fields(p: DeconvolutionParams, data: Shape) -> dict[str, Any]:
    """Strides and padding as oneDNN wants them: its dilation counts the gaps."""
    geo = window(p, data[2:])
    return {"strides": geo.stride, "dilates": tuple(d - 1 for d in geo.dilate),
            "pad_l": geo.pad, "pad_r": geo.pad_end}


def native_dims(p: DeconvolutionParams, weight: Shape) -> tuple[int, ...]:
    """A weight's dims to oneDNN: output channels stand first, groups before all."""
    per_in, rest = weight[0] // p.num_group, weight[1:]
    if p.num_group == 1:
        return (rest[0], per_in, *rest[1:])
    return (p.num_group, rest[0], per_in, *rest[1:])


def swapped(p: DeconvolutionParams, desc: MemDesc) -> MemDesc:
    """A layout of a weight with oneDNN's order of channels in the user's order, or back."""
    axes = list(range(desc.ndims))
    first = 0 if p.num_group == 1 else 1
    axes[first], axes[first + 1] = first + 1, first
    return desc.permuted(axes)


def compute_ex(ctx: OpContext, p: DeconvolutionParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, weight, operands = ins[0], ins[1], ins[own_inputs(p):]
    dtype, chain = data.dtype, chain_of_params(p)
    shapes = [operand.shape for operand in operands]
    direction = Direction.FORWARD_TRAINING if ctx.is_train else Direction.FORWARD_INFERENCE

    def build(in_place: bool) -> Primitive:
        bias = None if p.no_bias else default_desc(dtype, (p.num_filter,))
        make = partial(make_primitive, Kind.DECONVOLUTION, direction, bias=bias,
                       weights=any_desc(dtype, native_dims(p, weight.shape)),
                       **fields(p, data.shape))

        def one(src: MemDesc, dst: MemDesc) -> Primitive:
            if operands and dst.is_any:
                # the operands' layout is that of the result, which only oneDNN knows
                free = make(src=src, dst=dst)
                src, dst = free.src, free.dst
            return make(src=src, dst=dst,
                        post_ops=post_specs(chain, dst, dtype, shapes, in_place))
        return first_supported(partial(one, src, dst) for src, dst
                               in data_candidates(dtype, data.shape, outs[0].shape))
    fused = choose(ctx, ("Deconvolution.forward", p, data.shape, *shapes), build, chain, operands,
                   outs[0])
    prim = fused.prim
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, swapped(p, prim.weights), p.num_group).as_desc(prim.weights)
    args: list[tuple[int, Mem]] = [(Arg.SRC, get_data_reorder(data, prim.src, ctx.stream)),
                                   (Arg.WEIGHTS, w)]
    if not p.no_bias:
        args.append((Arg.BIAS, get_default(ins[2], ctx.stream)))
    run(ctx, fused, chain, operands, outs[0], args)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_Deconvolution", node.params, out_grads[0], node.inputs[0],
                node.inputs[1])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return product_gradient("Deconvolution", emit, node, out_grads)


def backward_outputs(p: DeconvolutionParams) -> tuple[str, ...]:
    return ("data_grad", "weight_grad") if p.no_bias else ("data_grad", "weight_grad", "bias_grad")


def infer_shape_backward(p: DeconvolutionParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    grads = [merge(outs[0], ins[1]), merge(outs[1], ins[2])]
    return [ins[0], *grads], [*grads, (p.num_filter,)][: len(outs)]


def compute_backward(ctx: OpContext, p: DeconvolutionParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dtype = ins[1].dtype
    dy, x, w = (wide(value) for value in ins)
    geo = geometry(p, x.shape)
    if outs[0].requested:
        dx = conv_forward(dy, w, geo, x.shape[2:]) if x.size else np.zeros(x.shape, x.dtype)
        outs[0].write(dx.astype(dtype, copy=False))
    if outs[1].requested:
        dw = conv_backward_weights(dy, x, geo, w.shape) if x.size else np.zeros(w.shape, w.dtype)
        outs[1].write(dw.astype(dtype, copy=False))
    if not p.no_bias and outs[2].requested:
        outs[2].write(dy.sum(axis=(0, *range(2, dy.ndim)), dtype=dy.dtype).astype(dtype,
                                                                                  copy=False))


def compute_ex_backward(ctx: OpContext, p: DeconvolutionParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy, x, w = ins
    dtype, stream = x.dtype, ctx.stream
    w_any = any_desc(dtype, native_dims(p, w.shape))
    with_bias = not p.no_bias and outs[2].requested
    bias = default_desc(dtype, (p.num_filter,)) if with_bias else None

    def build_data() -> tuple[Primitive, MemDesc]:
        make = partial(make_primitive, Kind.DECONVOLUTION, Direction.BACKWARD_DATA,
                       weights=w_any, **fields(p, x.shape))
        made = first_supported(partial(make, diff_src=src, diff_dst=dst)
                               for src, dst in data_candidates(dtype, x.shape, dy.shape))
        return made, swapped(p, made.weights)

    def build_weights() -> tuple[Primitive, MemDesc]:
        make = partial(make_primitive, Kind.DECONVOLUTION, Direction.BACKWARD_WEIGHTS,
                       diff_weights=w_any, diff_bias=bias, **fields(p, x.shape))
        made = first_supported(partial(make, src=src, diff_dst=dst)
                               for src, dst in data_candidates(dtype, x.shape, dy.shape))
        return made, swapped(p, made.diff_weights)

    # both are made before either writes, so that a refusal leaves everything as it was
    sign = ("Deconvolution.backward", p, x.shape)
    for_data = ctx.primitive((*sign, "data"), build_data) if outs[0].requested else None
    for_weights = (ctx.primitive((*sign, "weights", with_bias), build_weights)
                   if outs[1].requested or with_bias else None)

    if for_weights is not None:
        prim, w_desc = for_weights
        args = [(Arg.SRC, get_data_reorder(x, prim.src, stream)),
                (Arg.DIFF_DST, get_data_reorder(dy, prim.diff_dst, stream))]
        with outs[1].open_weight_grad(w_desc, stream) as dw:
            args.append((Arg.DIFF_WEIGHTS, dw.as_desc(prim.diff_weights)))
            if bias is None:
                ctx.run(prim, args)
            else:
                with outs[2].open(bias, stream) as db:
                    ctx.run(prim, [*args, (Arg.DIFF_BIAS, db)])
    if for_data is not None:
        prim, w_desc = for_data
        args = [(Arg.DIFF_DST, get_data_reorder(dy, prim.diff_dst, stream)),
                (Arg.WEIGHTS, get_weights(w, w_desc, p.num_group, stream).as_desc(prim.weights))]
        with outs[0].open(prim.diff_src, stream) as dx:
            ctx.run(prim, [*args, (Arg.DIFF_SRC, dx)])


def flops(p: DeconvolutionParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions, without the bias."""
    return 2 * prod(ins[0]) * prod(ins[1][1:])


EPILOGUE = Epilogue("_fused_Deconvolution", operand=whole_or_channels)


DECONVOLUTION = register(OpDef(
    "Deconvolution", DeconvolutionParams, inputs=input_names, infer_shape=infer_shape,
    infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
    gradient=gradient, per_sample=True,
    epilogue=EPILOGUE, folds_affine=lambda p, rank: AffineFold(True, p.num_group),
    flops=flops,
    doc="Transposed convolution over 1 to 3 spatial axes.\n\n"
        "data (N, C, *spatial), weight (C, num_filter / num_group, *kernel), bias "
        "(num_filter,); output (N, num_filter, *out) with out = stride (d - 1) + "
        "dilate (kernel - 1) + 1 - 2 pad + adj, or target_shape. All of one dtype. "
        "Source: MXNet's Deconvolution; oneDNN deconvolution."))
register(with_post_ops(
    DECONVOLUTION, FusedDeconvolutionParams,
    "A deconvolution and what is done to its result.\n\n"
    "Inputs are those of Deconvolution, then one operand for each binary post-op: of the result's "
    "shape, or broadcast to it. Made by passes. Source: oneDNN deconvolution with post-ops."))
register(OpDef("_backward_Deconvolution", DeconvolutionParams,
               inputs=("out_grad", "data", "weight"), outputs=backward_outputs,
               infer_shape=infer_shape_backward, infer_type=same_type, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses, flops=flops,
               gradient=gradient_backward, is_backward=True))
