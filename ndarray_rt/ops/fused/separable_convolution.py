"""_fused_separable_Convolution: a depthwise separable convolution, and the expansion before it.

The expansion multiplies the number of channels: where images are large, its result exceeds a
core's cache. One kernel takes a few rows at a time through all three layers, so that the tensors
between them are never materialized.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain as joined
from math import prod
from typing import NamedTuple, TypeVar

from ..._array.layout import AnyArray, get_data_reorder, get_default, grouped_dims, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...cpu_level import has_avx512
from ...errors import ShapeError, Unsupported
from ...native import lib
from ...op.choose import BLOCK
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.infer import ShapeList, need_rank
from ...op.layout_cost import LayoutCost, reorder_cost
from ...op.packing import weights
from ...op.params import boolean, integer, params_class, shape, text
from ...op.registry import OpDef, Shape, register
from ...storage.desc import channels_last_desc, default_desc, tagged_desc
from ...storage.kernels.conv import separable
from ...storage.stream import Mem
from ..floats import same_float_type, wide
from ..nn import convolution as plain
from ..nn.conv_geometry import conv_forward, output_dims
from ..nn.packed_gemm import packed_for_pixels
from .params import PostOpParams
from .post_ops import (
    apply_chain,
    chain_bounds,
    infer_operands,
    num_operands,
    operand_names,
    parse_chain,
)
from .run import native_epilogue

T = TypeVar("T")

WINDOW = (3, 3)
STRIDES = ((1, 1), (2, 2))


class Stage(NamedTuple):
    """One of the convolutions, and what is done to its result."""

    name: str
    params: plain.ConvolutionParams
    chain: Chain

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of its weight and bias."""
        prefix = f"{self.name}_" if self.name else ""
        return tuple(prefix + name for name in plain.input_names(self.params)[1:])


@params_class
class SeparableConvolutionParams(PostOpParams):
    num_filter: int = integer(low=1, doc="output channels")
    num_between: int = integer(low=1, doc="channels of the depthwise convolution")
    stride: tuple[int, ...] = shape((1, 1), low=1, doc="step of the depthwise window of 3x3")
    pad: tuple[int, ...] = shape((0, 0), low=0, doc="zeros on both ends of an axis")
    is_expanded: bool = boolean(True, doc="a 1x1 convolution makes the channels in between")
    no_bias: bool = boolean(False, doc="the last convolution adds no bias")
    no_expansion_bias: bool = boolean(False, doc="the first one does not")
    no_depthwise_bias: bool = boolean(False, doc="the depthwise one does not")
    expansion_post_ops: str = text("", doc="what is done to the first one's result")
    depthwise_post_ops: str = text("", doc="what is done to the depthwise one's result")

    def stages(self) -> tuple[Stage, ...]:
        """The convolutions, first to last."""
        return _stages(self)


@lru_cache(maxsize=1024)
def _stages(p: SeparableConvolutionParams) -> tuple[Stage, ...]:
    def pointwise(filters: int, no_bias: bool) -> plain.ConvolutionParams:
        return plain.ConvolutionParams(kernel=(1, 1), num_filter=filters, no_bias=no_bias)
    first = Stage("expansion", pointwise(p.num_between, p.no_expansion_bias),
                  parse_chain(p.expansion_post_ops))
    windows = plain.ConvolutionParams(kernel=WINDOW, stride=p.stride, pad=p.pad,
                                      num_filter=p.num_between, num_group=p.num_between,
                                      no_bias=p.no_depthwise_bias)
    rest = (Stage("depthwise", windows, parse_chain(p.depthwise_post_ops)),
            Stage("", pointwise(p.num_filter, p.no_bias), p.chain))
    return (first, *rest) if p.is_expanded else rest


def input_names(p: SeparableConvolutionParams) -> tuple[str, ...]:
    return ("data", *joined.from_iterable(stage.inputs for stage in p.stages()),
            *operand_names(p.chain))


def _parts(p: SeparableConvolutionParams, ins: Sequence[T]) -> tuple[list[list[T]], list[T]]:
    """Weight and bias of each stage, and the operands."""
    made, at = [], 1
    for stage in p.stages():
        made.append([*ins[at:at + len(stage.inputs)]])
        at += len(stage.inputs)
    return made, [*ins[at:]]


def infer_shape(p: SeparableConvolutionParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    need_rank(ins[0], (4,), "data")
    stages = p.stages()
    parts, operands = _parts(p, ins)
    operands, out = infer_operands(p.chain, operands, outs[0])
    seen: ShapeList = [ins[0], *[None] * (len(stages) - 1), out]
    places = range(len(stages))
    for i in (*places, *reversed(places)):
        if i < places[-1] and num_operands(stages[i].chain):
            raise ShapeError(f"{stages[i].name}_post_ops: only the last convolution has operands")
        (seen[i], *parts[i]), (seen[i + 1],) = plain.infer_shape(
            stages[i].params, [seen[i], *parts[i]], [seen[i + 1]])
    operands, out = infer_operands(p.chain, operands, seen[-1])
    return [seen[0], *joined.from_iterable(parts), *operands], [out]


def compute(ctx: OpContext, p: SeparableConvolutionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    parts, operands = _parts(p, ins)
    y = wide(ins[0])
    for stage, (weight, *bias) in zip(p.stages(), parts, strict=True):
        geo = stage.params.geometry()
        y = conv_forward(y, wide(weight), geo, output_dims(y.shape[2:], geo))
        if bias:
            y += wide(bias[0]).reshape(-1, 1, 1)
        y = apply_chain(stage.chain, y, [wide(value) for value in operands])
    outs[0].write(y.astype(ins[0].dtype, copy=False))


def refuses(p: SeparableConvolutionParams, ins: list[NDArray]) -> str | None:
    if not has_avx512():
        return "the CPU has no AVX-512"
    if p.num_between % BLOCK or p.stride not in STRIDES:
        return (f"{p.num_between} channels between and strides of {p.stride}, expected a multiple "
                f"of {BLOCK} and one of {STRIDES}")
    return need_float32(*ins)


def bounds_of(p: SeparableConvolutionParams) -> list[float] | None:
    """Low and high of each convolution but the last, where all that is done to their results is to
    keep them within bounds, else None."""
    made: list[float] = []
    for stage in p.stages()[:-1]:
        bounds = chain_bounds(stage.chain)
        if bounds is None:
            return None
        made += bounds
    return made


def scratch_of(between: int, data: Shape, out: Shape, stride: Shape) -> int:
    """Numbers of scratch that the kernel needs for each thread, 0 where it can not do it."""
    return int(lib.ndrt_separable_scratch(between, data[2:], out[2:], stride[0]))


def compute_ex(ctx: OpContext, p: SeparableConvolutionParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, out, stream = ins[0], outs[0].shape, ctx.stream
    parts, operands = _parts(p, ins)
    bounds, epilogue = bounds_of(p), native_epilogue(p.chain, operands, out)
    if bounds is None or epilogue is None:
        raise Unsupported("post-ops other than an addition of the result's shape and bounds")
    slots = min(lib.ndrt_threads_get(), out[0] * out[2])
    numbers = scratch_of(p.num_between, data.shape, out, p.stride)
    if not numbers:
        raise Unsupported(f"images of {data.shape}")
    # the weights first: converting them may move their memory
    widths, packed = _packed(ctx, p, [weight for weight, *_ in parts])
    x = get_data_reorder(data, channels_last_desc(data.dtype, data.shape), stream)
    scratch = stream.scratch(default_desc(data.dtype, (slots * numbers,)))
    biases = [get_default(part[1], stream) if len(part) > 1 else None for part in parts]
    seen = channels_last_desc(data.dtype, out)
    added = None if epilogue.added is None else get_data_reorder(epilogue.added, seen, stream)
    if not p.is_expanded:
        bounds, widths, biases = [0.0, 0.0, *bounds], [0, *widths], [None, *biases]
    images, channels, height, width = data.shape
    with outs[0].open(seen, stream) as made:
        ctx.kernel(separable(
            out=made, data=x, scratch=scratch, depthwise=packed[0], projection=packed[1],
            expansion=packed[2] if p.is_expanded else None, expansion_bias=biases[0],
            depthwise_bias=biases[1], projection_bias=biases[2], added=added, images=images,
            channels=channels, height=height, width=width, between=p.num_between,
            filters=p.num_filter, stride=p.stride[0], pad_y=p.pad[0], pad_x=p.pad[1],
            expansion_width=widths[0], projection_width=widths[1], slots=slots,
            expansion_low=bounds[0], expansion_high=bounds[1], depthwise_low=bounds[2],
            depthwise_high=bounds[3], low=epilogue.low, high=epilogue.high))


def _packed(ctx: OpContext, p: SeparableConvolutionParams, given: Sequence[NDArray],
            ) -> tuple[list[int], list[Mem]]:
    """Columns of a block of each 1x1 convolution's weights, and the weights: the depthwise one's,
    the last one's, and the first one's if there is one."""
    *first, windows, last = given
    layout = tagged_desc(windows.dtype, grouped_dims(windows.shape, p.num_between),
                         f"Abcde{BLOCK}a")
    made = [weights(ctx, windows, layout, p.num_between)]
    widths: list[int] = []
    for weight in (last, *first):
        width, layout = packed_for_pixels(weight)
        made.append(weights(ctx, weight, layout))
        widths.insert(0, width)
    return widths, made


def flops(p: SeparableConvolutionParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions of all its convolutions."""
    between, filters = p.num_between, p.num_filter
    total = 2 * (prod(outs[0]) // filters) * between * (prod(WINDOW) + filters)
    return total + (2 * prod(ins[0]) * between if p.is_expanded else 0)


def _layout_cost(p: SeparableConvolutionParams, data: Shape, out: Shape) -> LayoutCost:
    """One kernel for all layouts, which reads and writes channels-last ones."""
    return LayoutCost(0.0, reorder_cost(data) + reorder_cost(out))


register(OpDef("_fused_separable_Convolution", SeparableConvolutionParams, inputs=input_names,
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, is_fused=True,
               no_gradient="it is for inference", per_sample=True, flops=flops,
               layout_cost=_layout_cost,
               doc="A 1x1 convolution that makes num_between channels, a depthwise one with "
                   "windows of 3x3 and a 1x1 one that makes num_filter channels.\n\n"
                   "data (N, C, H, W); for each of the convolutions weight and bias as in "
                   "Convolution; then one operand for each binary post-op of the last one. "
                   "Without is_expanded the first one is left out, and num_between is C. Made by "
                   "passes. Source: Howard et al. 2017 (MobileNets), Sandler et al. 2018 (inverted "
                   "residuals)."))
