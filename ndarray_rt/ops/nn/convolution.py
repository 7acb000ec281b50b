"""Convolution: y = sum over the window of x times w, plus bias; 1-D to 3-D, groups, dilation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from ..._array.layout import (
    AnyArray,
    get_data_reorder,
    get_default,
    grouped_dims,
    need_float32,
)
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.choose import ONEDNN, convolution_kernel, data_candidates, first_supported
from ...op.context import OpContext
from ...op.epilogue import AffineFold, Epilogue, whole_or_channels
from ...op.infer import ShapeList, merge, merge_dim, need_rank, same_type
from ...op.packing import weights
from ...op.params import Params, boolean, integer, optional_choice, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...op.select import Implementation, Selection
from ...storage.desc import MemDesc, any_desc, default_desc
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..blocked_gemm import need_product
from ..floats import wide
from ..fused.params import PostOpParams, with_post_ops
from ..fused.post_ops import apply_chain, chain_of_params, post_specs
from ..fused.run import choose, run
from ..terms import product_gradient
from . import conv_backward
from .blocked_convolution import BLOCKED_WINDOWS
from .column_convolution import COLUMN
from .conv_call import ConvolutionCall, convolution_call
from .conv_costs import convolution_cost
from .conv_geometry import (
    Geometry,
    conv_backward_data,
    conv_backward_weights,
    conv_forward,
    geometry,
    output_dims,
)
from .direct_convolution import DEPTHWISE, FEW_CHANNELS, IMPLICIT_GEMM
from .image_convolution import IMAGES
from .pointwise_convolution import ONE_PIXEL, PIXELS, PRODUCT


@params_class
class ConvolutionParams(Params):
    kernel: tuple[int, ...] = shape(low=1, doc="window: (w,), (h, w) or (d, h, w)")
    stride: tuple[int, ...] = shape((), low=1, doc="step of the window; default 1s")
    dilate: tuple[int, ...] = shape((), low=1, doc="distance of kernel elements; default 1s")
    pad: tuple[int, ...] = shape((), low=0, doc="zeros on both ends of an axis; default 0s")
    num_filter: int = integer(low=1, doc="output channels")
    num_group: int = integer(1, low=1, doc="groups of channels convolved apart")
    no_bias: bool = boolean(False, doc="no bias is added")
    layout: str | None = optional_choice("NCW", "NCHW", "NCDHW",
                                         doc="order of the axes as the user sees them")

    def geometry(self) -> Geometry:
        return geometry(self.kernel, self.stride, self.dilate, self.pad, self.num_group)


@params_class
class FusedConvolutionParams(ConvolutionParams, PostOpParams):
    """The layer's parameters and the post-ops."""


def input_names(p: ConvolutionParams) -> tuple[str, ...]:
    return ("data", "weight") if p.no_bias else ("data", "weight", "bias")


def infer_shape(p: ConvolutionParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    rank = len(p.kernel)
    if not 1 <= rank <= 3:
        raise ShapeError(f"kernel {p.kernel} has {rank} axes, expected 1 to 3")
    geo = p.geometry()
    data = ins[0]
    need_rank(data, (rank + 2,), "data")
    if p.num_filter % p.num_group:
        raise ShapeError(f"num_filter {p.num_filter} is no multiple of num_group {p.num_group}")
    channels = -1
    if data is not None and data[1] != -1:
        if data[1] % p.num_group:
            raise ShapeError(f"data {data} has {data[1]} channels, "
                             f"no multiple of num_group {p.num_group}")
        channels = data[1] // p.num_group
    weight = _expect(ins[1], (p.num_filter, channels, *p.kernel), "weight", p, data)
    made: ShapeList = [data, weight]
    if not p.no_bias:
        made.append(_expect(ins[2], (p.num_filter,), "bias", p, data))
    if data is None:
        return made, [outs[0]]
    if channels == -1 and weight[1] != -1:
        made[0] = data = (data[0], weight[1] * p.num_group, *data[2:])
    out = (data[0], p.num_filter, *output_dims(data[2:], geo))
    merged = merge(outs[0], out, "output shapes")
    if merged is not None and -1 in data:
        made[0] = (merge_dim(data[0], merged[0]), data[1],
                   *(_size_before(geo, axis, size, made_size) for axis, (size, made_size)
                     in enumerate(zip(data[2:], merged[2:], strict=True))))
    return made, [merged]


def _size_before(geo: Geometry, axis: int, size: int, out: int) -> int:
    """The size of data along an axis, from that of the output where the window takes no step."""
    if size != -1 or out == -1 or geo.stride[axis] != 1:
        return size
    return out - 1 + geo.extent(axis) - geo.pad[axis] - geo.pad_end[axis]


def _expect(got: Shape | None, wanted: Shape, name: str, p: ConvolutionParams,
            data: Shape | None) -> Shape:
    try:
        merged = merge(got, wanted)
    except ShapeError:
        raise ShapeError(f"{name} has shape {got}, expected {wanted} from data {data}, "
                         f"num_filter={p.num_filter}, num_group={p.num_group}") from None
    return wanted if merged is None else merged


def compute(ctx: OpContext, p: ConvolutionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    done = chain_of_params(p)
    x, w, *rest = (wide(value) for value in ins) if done else ins
    y = conv_forward(x, w, p.geometry(), outs[0].shape[2:],
                     None if done else outs[0].room(x.dtype))
    if not p.no_bias:
        y += rest.pop(0).reshape(-1, *(1,) * len(p.kernel))
    outs[0].write(apply_chain(done, y, rest).astype(ins[0].dtype, copy=False))


def refuses(p: ConvolutionParams, ins: list[NDArray]) -> str | None:
    return need_product((), *ins)


def refuses_backward(p: ConvolutionParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _run_onednn(ctx: OpContext, call: ConvolutionCall) -> None:
    p, data, weight, bias, out = call.params, call.data, call.weight, call.bias, call.out
    dtype, shapes = data.dtype, call.operand_shapes

    def build(in_place: bool) -> Primitive:
        best = ("" if call.is_train
                else convolution_kernel(p.num_group, data.shape, out.shape))
        make = partial(make_primitive, Kind.CONVOLUTION, call.direction,
                       weights=any_desc(dtype, grouped_dims(weight.shape, p.num_group)),
                       bias=None if bias is None else default_desc(dtype, (p.num_filter,)),
                       prefer=best, **call.geo.fields())

        def one(src: MemDesc, dst: MemDesc) -> Primitive:
            if call.operands and dst.is_any:
                # the operands' layout is that of the result, which only oneDNN knows
                free = make(src=src, dst=dst)
                src, dst = free.src, free.dst
            return make(src=src, dst=dst,
                        post_ops=post_specs(call.chain, dst, dtype, shapes, in_place))
        return first_supported(partial(one, src, dst) for src, dst in data_candidates(
            dtype, data.shape, out.shape, layout=call.variant))
    fused = choose(ctx, ("Convolution.forward", p, data.shape, *shapes), build, call.chain,
                   call.operands, out)
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, fused.prim.weights, p.num_group)
    args: list[tuple[int, Mem]] = [
        (Arg.SRC, get_data_reorder(data, fused.prim.src, ctx.stream)), (Arg.WEIGHTS, w)]
    if bias is not None:
        args.append((Arg.BIAS, get_default(bias, ctx.stream)))
    run(ctx, fused, call.chain, call.operands, out, args)


FORWARD = Selection(convolution_call, (
    *ONE_PIXEL, PIXELS, DEPTHWISE, FEW_CHANNELS, IMPLICIT_GEMM, IMAGES, PRODUCT, COLUMN,
    BLOCKED_WINDOWS,
    Implementation("oneDNN convolution", ONEDNN, _run_onednn)))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_Convolution", node.params, out_grads[0], node.inputs[0],
                node.inputs[1])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return product_gradient("Convolution", emit, node, out_grads)


def backward_outputs(p: ConvolutionParams) -> tuple[str, ...]:
    return ("data_grad", "weight_grad") if p.no_bias else ("data_grad", "weight_grad", "bias_grad")


def infer_shape_backward(p: ConvolutionParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    grads = [merge(outs[0], ins[1]), merge(outs[1], ins[2])]
    return [ins[0], *grads], [*grads, (p.num_filter,)][: len(outs)]


def compute_backward(ctx: OpContext, p: ConvolutionParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x, w = ins
    geo = p.geometry()
    if outs[0].requested:
        outs[0].write(conv_backward_data(dy, w, geo, x.shape))
    if outs[1].requested:
        outs[1].write(conv_backward_weights(x, dy, geo, w.shape))
    if not p.no_bias and outs[2].requested:
        outs[2].write(dy.sum(axis=(0, *range(2, dy.ndim)), dtype=dy.dtype))


def flops(p: ConvolutionParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions, without the bias."""
    return 2 * prod(outs[0]) * prod(ins[1][1:])


EPILOGUE = Epilogue("_fused_Convolution", operand=whole_or_channels)


CONVOLUTION = register(OpDef(
    "Convolution", ConvolutionParams, inputs=input_names, infer_shape=infer_shape,
    infer_type=same_type, compute=compute, compute_ex=FORWARD, refuses=refuses,
    gradient=gradient, aliases=("Convolution_v1",), per_sample=True,
    epilogue=EPILOGUE, folds_affine=lambda p, rank: AffineFold(), flops=flops,
    layout_cost=convolution_cost,
    doc="Convolution over 1 to 3 spatial axes.\n\n"
        "data (N, C, *spatial), weight (num_filter, C / num_group, *kernel), bias "
        "(num_filter,); output (N, num_filter, *out) with out = floor((d + 2 pad - "
        "dilate (kernel - 1) - 1) / stride) + 1. Source: MXNet's Convolution; "
        "oneDNN convolution."))
register(with_post_ops(
    CONVOLUTION, FusedConvolutionParams,
    "A convolution and what is done to its result.\n\n"
    "Inputs are those of Convolution, then one operand for each binary post-op: of the result's "
    "shape, or broadcast to it. Made by passes. Source: oneDNN convolution with post-ops."))
register(OpDef("_backward_Convolution", ConvolutionParams, inputs=("out_grad", "data", "weight"),
               outputs=backward_outputs, infer_shape=infer_shape_backward,
               infer_type=same_type, compute=compute_backward,
               compute_ex=conv_backward.compute_ex, refuses=refuses_backward, flops=flops,
               gradient=gradient_backward, is_backward=True))
