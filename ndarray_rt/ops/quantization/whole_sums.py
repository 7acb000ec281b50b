"""Sums of products of 8-bit numbers by the package's own kernel: exact on each CPU.

oneDNN's saturate at 16 bits on CPUs without VNNI.
"""

from __future__ import annotations

from math import prod

from ..._array.layout import get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import INT8, INT32, UINT8
from ...errors import Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.packing import weights
from ...op.registry import Shape
from ...storage.desc import channels_last_desc, default_desc, tagged_desc
from ...storage.kernels.elementwise import product_range, whole_bias
from ...storage.kernels.gemm import whole_windows
from ...storage.stream import Mem
from ..nn.conv_geometry import Geometry
from ..nn.convolution import ConvolutionParams
from ..nn.fully_connected import FullyConnectedParams, matrix
from ..tensor.places import can_add
from .ranges import WHOLE

PIXEL = Geometry((1, 1), (1, 1), (1, 1), (0, 0), (0, 0), 1)
WEIGHTS = f"AcdB{lib.NDRT_WHOLE_BLOCK}a2b"


def refuses_conv(p: ConvolutionParams, ins: list[NDArray]) -> str | None:
    if len(p.kernel) != 2:
        return f"windows of {len(p.kernel)} axes"
    if p.num_group != 1:
        return f"{p.num_group} groups"
    return refuses_empty(p, ins)


def refuses_empty(p: ConvolutionParams | FullyConnectedParams, ins: list[NDArray]) -> str | None:
    return "an array without elements" if 0 in ins[0].shape or 0 in ins[1].shape else None


def compute_conv(ctx: OpContext, p: ConvolutionParams, ins: list[NDArray], outs: list[Output],
                 ) -> None:
    data, out = ins[0], outs[0]
    can_add(out)
    count = 2 if p.no_bias else 3
    packed = weights(ctx, ins[1], tagged_desc(INT8, ins[1].shape, WEIGHTS))
    bias = None if p.no_bias else _bias(ctx, ins[2], None, ins[0])
    x = get_data_reorder(data, channels_last_desc(data.dtype, data.shape), ctx.stream)
    with out.open(channels_last_desc(INT32, out.shape), ctx.stream) as y:
        _run(ctx, y, x, packed, bias, data.shape, p.geometry(), out.shape, data.dtype == INT8)
    write_range(ctx, outs, ins[count:], is_signed=True)


def compute_dense(ctx: OpContext, p: FullyConnectedParams, ins: list[NDArray], outs: list[Output],
                  ) -> None:
    data, out = ins[0], outs[0]
    can_add(out)
    count = 2 if p.no_bias else 3
    rows, features = matrix(p, data.shape)
    packed = weights(ctx, ins[1], tagged_desc(INT8, (p.num_hidden, features, 1, 1), WEIGHTS))
    bias = None if p.no_bias else _bias(ctx, ins[2], ins[count:], ins[0])
    x = get_default(data, ctx.stream)
    with out.open(default_desc(INT32, out.shape), ctx.stream) as y:
        _run(ctx, y, x, packed, bias, (rows, features, 1, 1), PIXEL, (rows, p.num_hidden, 1, 1),
             data.dtype == INT8)
    write_range(ctx, outs, ins[count:], is_signed=data.dtype == INT8)


def _bias(ctx: OpContext, bias: NDArray, ends: list[NDArray] | None, data: NDArray) -> Mem:
    """The bias as int32, in scratch; in the steps of the sums where ranges are given."""
    made = ctx.stream.scratch(default_desc(INT32, bias.shape))
    given: list[Mem | None] = [None] * 6
    if ends is not None:
        given = [get_default(end, ctx.stream) for end in ends]
    ctx.kernel(whole_bias(
        out=made, bias=get_default(bias, ctx.stream), data_low=given[0], data_high=given[1],
        weight_low=given[2], weight_high=given[3], bias_low=given[4], bias_high=given[5],
        n=bias.size, is_scaled=ends is not None, is_signed=data.dtype == INT8))
    return made


def _run(ctx: OpContext, y: Mem, x: Mem, packed: Mem, bias: Mem | None, data: Shape,
         geo: Geometry, out: Shape, is_signed: bool) -> None:
    images, channels, height, width = data
    depth = prod(geo.kernel) * (channels + channels % 2)
    slots = min(lib.ndrt_threads_get(), images * out[2] * out[3])
    numbers = slots * lib.NDRT_WHOLE_PANEL * depth
    if numbers >= 1 << 31:
        raise Unsupported(f"windows over {depth} numbers")
    # of 16 bits, two of them in an int32
    scratch = ctx.stream.scratch(default_desc(INT32, (numbers // 2,)))
    ctx.kernel(whole_windows(
        out=y, data=x, weights=packed, bias=bias, scratch=scratch, images=images,
        channels=channels, height=height, width=width, filters=out[1], window=geo.kernel,
        stride=geo.stride, dilate=geo.dilate, pad=geo.pad, rows=out[2], columns=out[3],
        is_signed=is_signed, slots=slots))


def write_range(ctx: OpContext, outs: list[Output], ends: list[NDArray], is_signed: bool) -> None:
    """What the sums stand for. `ends` are min and max of data, then of weights."""
    given = [get_default(end, ctx.stream) for end in ends[:4]]
    desc = default_desc(outs[1].array.dtype, (1,))
    most = WHOLE[INT8 if is_signed else UINT8]
    with outs[1].open(desc, ctx.stream) as low, outs[2].open(desc, ctx.stream) as high:
        ctx.kernel(product_range(low=low, high=high, data_low=given[0], data_high=given[1],
                                 weight_low=given[2], weight_high=given[3],
                                 data_most=float(most)))
