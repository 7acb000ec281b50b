"""Sums of products of 8-bit numbers by the native kernel: exact on each CPU.

oneDNN's saturate at 16 bits on CPUs without VNNI.
"""

from __future__ import annotations

import math
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import FLOAT32, INT8, INT32
from ...errors import Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.packing import weights
from ...op.registry import Shape
from ...storage.desc import MemDesc, channels_last_desc, default_desc, strided_desc
from ...storage.kernels.bytes import product_range, whole_bias
from ...storage.kernels.conv import whole_depthwise
from ...storage.kernels.gemm import pack_whole, whole_windows
from ...storage.stream import Mem, Stream
from ..nn.conv_geometry import Geometry
from ..nn.convolution import ConvolutionParams
from ..nn.fully_connected import FullyConnectedParams, matrix
from ..tensor.places import can_add
from .ranges import WHOLE

PIXEL = Geometry((1, 1), (1, 1), (1, 1), (0, 0), (0, 0), 1)
END = default_desc(FLOAT32, (1,))
BLOCK = lib.NDRT_WHOLE_BLOCK


def refuses_conv(p: ConvolutionParams, ins: list[NDArray]) -> str | None:
    if len(p.kernel) != 2:
        return f"windows of {len(p.kernel)} axes"
    return refuses_empty(p, ins)


def refuses_empty(p: ConvolutionParams | FullyConnectedParams, ins: list[NDArray]) -> str | None:
    return "an array without elements" if 0 in ins[0].shape or 0 in ins[1].shape else None


class Bend(NamedTuple):
    """A function of numbers: those below 0 times the slope, and all kept within bounds."""

    slope: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    def named(self, when: str) -> dict[str, float]:
        """As kernels and operators are given it: `first` or `last`."""
        return {f"{when}_{key}": value for key, value in self._asdict().items()}


STRAIGHT = Bend()


class Finish(NamedTuple):
    """What becomes of sums that are not written.

    A shift for each column is added, they are multiplied by a scale, the same or one for each
    column, bent, 8-bit numbers times their scale are added, and they are bent again.
    """

    scale: Mem | None = None
    scales: Mem | None = None
    shift: Mem | None = None
    first: Bend = STRAIGHT
    added: Mem | None = None
    added_scale: Mem | None = None
    last: Bend = STRAIGHT


SUMS = Finish()


class Linear(NamedTuple):
    """Zero points: of data, and of what the sums become, which are multiplied by the factor of
    their filter (None: sums in int32), rounded and kept within bounds (none of floats)."""

    zero: int
    factors: Mem | None
    out_zero: int = 0
    low: float = -math.inf
    high: float = math.inf

    @property
    def finish(self) -> Finish:
        return Finish(scales=self.factors, last=Bend(
            low=self.low - self.out_zero, high=self.high - self.out_zero))


def rectified(scale: Mem, rectify: bool) -> Finish:
    """The sums times a scale, with `rectify` to 0 and above."""
    return Finish(scale=scale, last=Bend(low=0.0) if rectify else STRAIGHT)


def compute_conv(ctx: OpContext, p: ConvolutionParams, ins: list[NDArray], outs: list[Output],
                 ) -> None:
    can_add(outs[0])
    write_conv(ctx, p, *conv_arrays(ctx, p, ins), outs[0])
    with outs[1].open(END, ctx.stream) as low, outs[2].open(END, ctx.stream) as high:
        conv_range(ctx, p, ins, low, high)


def conv_arrays(ctx: OpContext, p: ConvolutionParams, ins: list[NDArray],
                ) -> tuple[NDArray, NDArray, Mem | None]:
    """Data, weight, and the bias as int32."""
    return ins[0], ins[1], None if p.no_bias else _bias(ctx, ins[2], [], ins[0])


def write_conv(ctx: OpContext, p: ConvolutionParams, data: NDArray, weight: NDArray,
               bias: Mem | None, out: Output, finish: Finish = SUMS) -> None:
    """Sums of products, with a bias of int32, and what becomes of them."""
    _write_conv(ctx, p, data, weight, bias, out, finish, 0, 0)


def write_linear_conv(ctx: OpContext, p: ConvolutionParams, data: NDArray, weight: NDArray,
                      bias: NDArray | None, out: Output, linear: Linear) -> None:
    """A convolution with zero points; bias is int32."""
    summand = None if bias is None else get_default(bias, ctx.stream)
    _write_conv(ctx, p, data, weight, summand, out, linear.finish, linear.zero, linear.out_zero)


def _write_conv(ctx: OpContext, p: ConvolutionParams, data: NDArray, weight: NDArray,
                bias: Mem | None, out: Output, finish: Finish, zero: int, out_zero: int) -> None:
    layout = channels_last_desc
    is_depthwise = has_own_filters(p, weight)
    packed = _by_places(ctx, weight) if is_depthwise else _packed(ctx, weight, p.num_group)
    compute = _run_depthwise if is_depthwise else _run
    x = get_data_reorder(data, layout(data.dtype, data.shape), ctx.stream)
    # the kernel of depthwise layers computes some channels twice
    replaced = None if is_depthwise else finish.added
    with out.open(layout(out.array.dtype, out.shape), ctx.stream, inplace_of=replaced) as y:
        compute(ctx, y, x, packed, bias, data.shape, p.geometry(), out.shape, finish, zero,
                out_zero)


def has_own_filters(p: ConvolutionParams, weight: NDArray) -> bool:
    """Each channel has one filter, and the kernel for such layers takes it."""
    return (weight.shape[1] == 1 and p.num_group == p.num_filter >= BLOCK
            and prod(p.kernel) <= lib.NDRT_WHOLE_PLACES)


def conv_range(ctx: OpContext, p: ConvolutionParams, ins: list[NDArray], low: Mem, high: Mem,
               ) -> None:
    """What -2^31 and 2^31 stand for, as MXNet tells it: of int8 data."""
    write_range(ctx, ins[2 if p.no_bias else 3:], WHOLE[INT8], low, high)


def compute_dense(ctx: OpContext, p: FullyConnectedParams, ins: list[NDArray], outs: list[Output],
                  ) -> None:
    can_add(outs[0])
    write_dense(ctx, p, *dense_arrays(ctx, p, ins), outs[0])
    with outs[1].open(END, ctx.stream) as low, outs[2].open(END, ctx.stream) as high:
        dense_range(ctx, p, ins, low, high)


def dense_arrays(ctx: OpContext, p: FullyConnectedParams, ins: list[NDArray],
                 ) -> tuple[NDArray, NDArray, Mem | None]:
    """Data, weight, and the bias as int32 in the steps of the sums."""
    return ins[0], ins[1], None if p.no_bias else _bias(ctx, ins[2], ins[3:], ins[0])


def write_dense(ctx: OpContext, p: FullyConnectedParams, data: NDArray, weight: NDArray,
                bias: Mem | None, out: Output, finish: Finish = SUMS) -> None:
    """The same of rows."""
    rows, features = matrix(p, data.shape)
    packed = _packed(ctx, weight)
    x = get_default(data, ctx.stream)
    layout = default_desc(out.array.dtype, out.shape)
    with out.open(layout, ctx.stream, inplace_of=finish.added) as y:
        _run(ctx, y, x, packed, bias, (rows, features, 1, 1), PIXEL, (rows, p.num_hidden, 1, 1),
             finish)


def write_products(ctx: OpContext, y: Mem, x: Mem, packed: Mem, rows: int, features: int,
                   columns: int) -> None:
    """The sums (rows, columns) of 8-bit numbers with weights that are packed already."""
    _run(ctx, y, x, packed, None, (rows, features, 1, 1), PIXEL, (rows, columns, 1, 1), SUMS)


def write_linear_dense(ctx: OpContext, p: FullyConnectedParams, data: NDArray, weight: NDArray,
                       bias: NDArray | None, out: Output, linear: Linear) -> None:
    """A dense layer with zero points; bias is int32."""
    rows, features = matrix(p, data.shape)
    packed = _packed(ctx, weight)
    summand = None if bias is None else get_default(bias, ctx.stream)
    x = get_default(data, ctx.stream)
    with out.open(default_desc(out.array.dtype, out.shape), ctx.stream) as y:
        _run(ctx, y, x, packed, summand, (rows, features, 1, 1), PIXEL,
             (rows, p.num_hidden, 1, 1), linear.finish, linear.zero, linear.out_zero)


def dense_range(ctx: OpContext, p: FullyConnectedParams, ins: list[NDArray], low: Mem, high: Mem,
                ) -> None:
    write_range(ctx, ins[2 if p.no_bias else 3:], WHOLE[ins[0].dtype], low, high)


def _packed(ctx: OpContext, weight: NDArray, groups: int = 1) -> Mem:
    """Weights, (filters, channels) or with a window, as the kernel reads them."""
    made = packed_desc(weight.shape, groups)

    def fill(stream: Stream, packed: Mem) -> None:
        pack(stream, packed, get_default(weight, stream), weight.shape, groups)
    if ctx.packed is not None and ctx.is_constant(weight):
        return ctx.packed.made(weight, f"whole windows, {groups} groups", made, ctx.stream, fill)
    packed = ctx.stream.scratch(made)
    fill(ctx.stream, packed)
    return packed


def packed_desc(shape: Shape, groups: int = 1) -> MemDesc:
    """The layout of packed weights of that shape."""
    filters, channels, *window = (*shape, 1, 1)[:4]
    nbytes = lib.ndrt_whole_packed(window, channels, filters, groups)
    if not 0 < nbytes < 1 << 31:
        raise Unsupported(f"weights of shape {shape}")
    return default_desc(INT8, (nbytes,))


def pack(stream: Stream, packed: Mem, weight: Mem, shape: Shape, groups: int = 1) -> None:
    """Packs int8 weights of that shape, in the default layout."""
    filters, channels, *window = (*shape, 1, 1)[:4]
    stream.kernel(pack_whole(out=packed, data=weight, filters=filters, channels=channels,
                             window=window, groups=groups))


def _by_places(ctx: OpContext, weight: NDArray) -> Mem:
    """(y, x, filters) of filters for one channel each."""
    filters, width = weight.shape[0], weight.shape[3]
    made = strided_desc(INT8, weight.shape, (1, filters, width * filters, filters))
    return weights(ctx, weight, made)


def _bias(ctx: OpContext, bias: NDArray, ends: list[NDArray], data: NDArray) -> Mem:
    """The bias as int32, in scratch; in the steps of the sums where ranges are given."""
    made = ctx.stream.scratch(default_desc(INT32, bias.shape))
    given: list[Mem | None] = [None] * 6
    if ends:
        given = [get_default(end, ctx.stream) for end in ends]
    ctx.kernel(whole_bias(
        out=made, bias=get_default(bias, ctx.stream), data_low=given[0], data_high=given[1],
        weight_low=given[2], weight_high=given[3], bias_low=given[4], bias_high=given[5],
        n=bias.size, is_scaled=bool(ends), is_signed=data.dtype == INT8))
    return made


def _run(ctx: OpContext, y: Mem, x: Mem, packed: Mem, bias: Mem | None, data: Shape,
         geo: Geometry, out: Shape, finish: Finish, zero: int = 0, out_zero: int = 0) -> None:
    images, channels, height, width = data
    of_group, slots = channels // geo.groups, lib.ndrt_threads_get()
    nbytes = slots * lib.ndrt_whole_scratch(geo.kernel, of_group)
    if not 0 < nbytes < 1 << 31:
        raise Unsupported(f"windows over {prod(geo.kernel) * of_group} numbers")
    scratch = ctx.stream.scratch(default_desc(INT8, (nbytes,)))
    ctx.kernel(whole_windows(
        out=y, data=x, weights=packed, bias=bias, scratch=scratch, **_finishing(finish),
        images=images, channels=channels, height=height, width=width, filters=out[1],
        window=geo.kernel, stride=geo.stride, dilate=geo.dilate, pad=geo.pad, rows=out[2],
        columns=out[3], groups=geo.groups, is_signed=x.desc.dtype_code == lib.NDRT_S8, slots=slots,
        kind=y.desc.dtype_code, zero=zero, out_zero=out_zero))


def _run_depthwise(ctx: OpContext, y: Mem, x: Mem, packed: Mem, bias: Mem | None, data: Shape,
                   geo: Geometry, out: Shape, finish: Finish, zero: int = 0, out_zero: int = 0,
                   ) -> None:
    images, channels, height, width = data
    nbytes = lib.ndrt_whole_depthwise_scratch(channels, prod(geo.kernel))
    scratch = ctx.stream.scratch(default_desc(INT8, (nbytes,)))
    ctx.kernel(whole_depthwise(
        out=y, data=x, weights=packed, bias=bias, scratch=scratch, **_finishing(finish),
        images=images, channels=channels, height=height, width=width, window=geo.kernel,
        stride=geo.stride, dilate=geo.dilate, pad=geo.pad, rows=out[2], columns=out[3],
        is_signed=x.desc.dtype_code == lib.NDRT_S8, kind=y.desc.dtype_code, zero=zero,
        out_zero=out_zero))


def _finishing(finish: Finish) -> dict[str, Any]:
    """What kernels are told of it."""
    first, last, added = finish.first, finish.last, finish.added
    return {"shift": finish.shift, "scale": finish.scale, "scales": finish.scales, "added": added,
            "added_scale": finish.added_scale,
            "added_kind": 0 if added is None else added.desc.dtype_code,
            **first.named("first"), **last.named("last")}


def write_range(ctx: OpContext, ends: list[NDArray], most: np.float32, low: Mem, high: Mem,
                 ) -> None:
    """What the sums stand for. `ends` are min and max of data, then of weights."""
    given = [get_default(end, ctx.stream) for end in ends[:4]]
    ctx.kernel(product_range(low=low, high=high, data_low=given[0], data_high=given[1],
                             weight_low=given[2], weight_high=given[3], data_most=float(most),
                             weight_most=float(WHOLE[INT8])))
