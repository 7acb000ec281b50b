"""Native paths of operators on 8-bit numbers, apart from the layers that sum products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ..._array.layout import get_data, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import FLOAT32, INT8, INT32, UINT8, DType
from ...native import lib
from ...op.context import OpContext
from ...op.registry import Shape
from ...storage.desc import MemDesc, channels_last_desc, default_desc
from ...storage.kernels import bytes as kernels
from ...storage.kernels.elementwise import fill
from ...storage.kernels.pool import pool_bytes
from ...storage.stream import Mem
from ..nn.pool_window import Windows
from ..tensor.places import can_add
from ..tensor.pointwise import put
from .ranges import HALF_OVER

END = default_desc(FLOAT32, (1,))
KINDS = {FLOAT32: lib.NDRT_F32, INT32: lib.NDRT_S32, INT8: lib.NDRT_S8, UINT8: lib.NDRT_U8}
Ends = tuple[np.float32, np.float32]


def layout_of(x: NDArray, ctx: OpContext) -> Callable[[DType, Shape], MemDesc]:
    """What makes the layout, the default one or channels-last, that x is read in for its operator:
    its own where it is one of them."""
    given = get_data(x, ctx.stream).desc
    last = channels_last_desc(x.dtype, x.shape)
    is_last = not given.is_default and (bool(given.inner_blks) or given.same_as == last.same_as)
    return channels_last_desc if is_last else default_desc


def dense(x: NDArray, ctx: OpContext) -> Mem:
    return get_data_reorder(x, layout_of(x, ctx)(x.dtype, x.shape), ctx.stream)


def ends_of(arrays: Sequence[NDArray], ctx: OpContext) -> list[Mem]:
    return [get_default(end, ctx.stream) for end in arrays]


def number(ctx: OpContext) -> Mem:
    """Room for one float."""
    return ctx.stream.scratch(END)


def fill_range(ctx: OpContext, outs: list[Output], ends: Ends) -> None:
    """A range that is known beforehand."""
    for out, end in zip(outs[1:], ends, strict=True):
        with out.open(END, ctx.stream) as y:
            ctx.kernel(fill(out=y, n=1, value=float(end)))


def pass_range(ctx: OpContext, ends: Sequence[NDArray], outs: list[Output]) -> None:
    """Data's own range."""
    for end, out in zip(ends, outs[1:], strict=True):
        put(ctx, get_default(end, ctx.stream), out)


def put_all(ctx: OpContext, made: Sequence[Mem], outs: list[Output]) -> None:
    """What is in scratch, as outputs."""
    for out in outs:
        can_add(out)
    for mem, out in zip(made, outs, strict=True):
        put(ctx, mem, out)


# ---- to 8 bits and back -------------------------------------------------------------------------


def to_bytes(ctx: OpContext, data: NDArray, out: Output, scale: Mem | np.float32) -> None:
    """Rounded products with a scale, which is in memory or known."""
    can_add(out)
    x, layout = dense(data, ctx), layout_of(data, ctx)(out.array.dtype, out.shape)
    kept, factor = (scale, 0.0) if isinstance(scale, Mem) else (None, float(scale))
    with out.open(layout, ctx.stream) as y:
        ctx.kernel(kernels.to_bytes(
            out=y, data=x, scale=kept, n=data.size, kind=KINDS[data.dtype],
            is_signed=out.array.dtype == INT8, factor=factor))


def quantize(ctx: OpContext, data: NDArray, ends: Sequence[Mem], most: np.float32,
             outs: list[Output]) -> None:
    """float32 in a range, whose greatest absolute value becomes `most`."""
    can_add(outs[0])
    scale, (low, high) = number(ctx), ends
    with outs[1].open(END, ctx.stream) as made_low, outs[2].open(END, ctx.stream) as made_high:
        ctx.kernel(kernels.quantize_range(
            low=made_low, high=made_high, scale=scale, data_low=low, data_high=high,
            is_signed=outs[0].array.dtype == INT8, most=float(most)))
    to_bytes(ctx, data, outs[0], scale)


def extent(ctx: OpContext, data: NDArray) -> tuple[Mem, Mem]:
    """The least and the greatest element, as floats."""
    least, greatest = number(ctx), number(ctx)
    ctx.kernel(kernels.extent(least=least, greatest=greatest, data=dense(data, ctx), n=data.size,
                              kind=KINDS[data.dtype]))
    return least, greatest


def dequantize(ctx: OpContext, data: NDArray, ends: Sequence[NDArray], out: Output) -> None:
    step, (low, high) = number(ctx), ends_of(ends, ctx)
    ctx.kernel(kernels.dequantize_step(step=step, data_low=low, data_high=high,
                                       most=float(HALF_OVER[data.dtype])))
    x, layout = dense(data, ctx), layout_of(data, ctx)(FLOAT32, out.shape)
    with out.open(layout, ctx.stream) as y:
        ctx.kernel(kernels.from_bytes(out=y, data=x, step=step, n=data.size,
                                      is_signed=data.dtype == INT8))


def requantize_range(ctx: OpContext, ends: Sequence[Mem], wanted: np.float32 | tuple[Mem, Mem],
                     most: np.float32, is_signed: bool, outs: list[Output]) -> Mem:
    """Writes the range of 8-bit numbers, `wanted` or that of the sums, and gives the scale."""
    # before anything is added to a range: NumPy would add it again
    can_add(outs[0])
    scale, (low, high) = number(ctx), ends
    least, greatest = wanted if isinstance(wanted, tuple) else (None, None)
    with outs[1].open(END, ctx.stream) as made_low, outs[2].open(END, ctx.stream) as made_high:
        ctx.kernel(kernels.requantize_range(
            low=made_low, high=made_high, scale=scale, data_low=low, data_high=high, least=least,
            greatest=greatest, is_signed=is_signed, most=float(most),
            wanted=0.0 if isinstance(wanted, tuple) else float(wanted)))
    return scale


# ---- between numbers of 8 bits ------------------------------------------------------------------


def relu(ctx: OpContext, ins: list[NDArray], outs: list[Output]) -> None:
    data, out = ins[0], outs[0]
    can_add(out)
    if data.dtype == UINT8:
        put(ctx, dense(data, ctx), out)
    else:
        x = dense(data, ctx)
        with out.open(x.desc, ctx.stream, inplace_of=x) as y:
            ctx.kernel(kernels.relu_bytes(out=y, data=x, n=data.size))
    pass_range(ctx, ins[1:], outs)


def flatten(ctx: OpContext, ins: list[NDArray], outs: list[Output]) -> None:
    data, out = ins[0], outs[0]
    can_add(out)
    put(ctx, get_default(data, ctx.stream).as_desc(default_desc(data.dtype, out.shape)), out)
    pass_range(ctx, ins[1:], outs)


def add(ctx: OpContext, ins: list[NDArray], outs: list[Output], calibrated: Ends | None) -> None:
    can_add(outs[0])
    with outs[1].open(END, ctx.stream) as low, outs[2].open(END, ctx.stream) as high:
        scales = sum_scales(ctx, ins, outs[0].array.dtype, calibrated, low, high)
    write_sum(ctx, ins, outs[0], scales)


def sum_scales(ctx: OpContext, ins: list[NDArray], dtype: DType, calibrated: Ends | None,
               low: Mem, high: Mem) -> tuple[Mem, Mem]:
    """Writes the range of a sum of that dtype, and gives what its terms are multiplied by."""
    scales = number(ctx), number(ctx)
    ends = ends_of(ins[2:], ctx)
    ctx.kernel(kernels.sum_scales(
        low=low, high=high, left_scale=scales[0], right_scale=scales[1],
        left_low=ends[0], left_high=ends[1], right_low=ends[2], right_high=ends[3],
        is_calibrated=calibrated is not None, left_most=float(HALF_OVER[ins[0].dtype]),
        right_most=float(HALF_OVER[ins[1].dtype]), most=float(HALF_OVER[dtype]),
        calibrated_low=0.0 if calibrated is None else float(calibrated[0]),
        calibrated_high=0.0 if calibrated is None else float(calibrated[1])))
    return scales


def write_sum(ctx: OpContext, ins: list[NDArray], out: Output, scales: tuple[Mem, Mem],
              scale: Mem | None = None, rectify: bool = False) -> None:
    """The terms times their scales; with a scale that of int32 sums, as numbers of 8 bits."""
    lhs, rhs = ins[:2]
    layout = layout_of(lhs, ctx)
    x, y = (get_data_reorder(array, layout(array.dtype, array.shape), ctx.stream)
            for array in (lhs, rhs))
    with out.open(layout(out.array.dtype, out.shape), ctx.stream) as made:
        ctx.kernel(kernels.sum_bytes(
            out=made, left=x, right=y, left_scale=scales[0], right_scale=scales[1],
            scale=scale, n=lhs.size, left_signed=lhs.dtype == INT8,
            right_signed=rhs.dtype == INT8, kind=KINDS[out.array.dtype], rectify=rectify))


def multiply(ctx: OpContext, ins: list[NDArray], out: Output, wanted: np.float32) -> None:
    """Products of int8: as int32, as floats, or as int8 that stands for floats times `wanted`."""
    can_add(out)
    (lhs, rhs), dtype = ins[:2], out.array.dtype
    scale = None
    if dtype != INT32:
        scale, given = number(ctx), ends_of(ins[2:], ctx)
        ctx.kernel(kernels.product_scale(
            scale=scale, left_low=given[0], left_high=given[1], right_low=given[2],
            right_high=given[3], gives_floats=dtype == FLOAT32, wanted=float(wanted)))
    layout = layout_of(lhs, ctx)
    x, y = (get_data_reorder(array, layout(array.dtype, array.shape), ctx.stream)
            for array in (lhs, rhs))
    with out.open(layout(dtype, out.shape), ctx.stream) as made:
        ctx.kernel(kernels.multiply_bytes(out=made, left=x, right=y, scale=scale, n=lhs.size,
                                          kind=KINDS[dtype]))


def norm(ctx: OpContext, ins: list[NDArray], axis: int, epsilon: float, wanted: np.float32,
         out: Output) -> None:
    """Batch normalization over the channels of an axis, to a range whose greatest is `wanted`.

    `ins`: data, gamma, beta, mean, variance and both ends of data's range.
    """
    data, channels = ins[0], ins[1].shape[0]
    can_add(out)
    made = default_desc(FLOAT32, (channels,))
    factors, shifts = ctx.stream.scratch(made), ctx.stream.scratch(made)
    gamma, beta, mean, var, low, high = ends_of(ins[1:], ctx)
    ctx.kernel(kernels.norm_factors(
        factors=factors, shifts=shifts, gamma=gamma, beta=beta, mean=mean, var=var, data_low=low,
        data_high=high, n=channels, epsilon=epsilon, wanted=float(wanted)))
    # channels-last is a layout of axis 1
    layout = layout_of(data, ctx) if axis == 1 else default_desc
    inner = 1 if layout is channels_last_desc else prod(data.shape[axis + 1:])
    x = get_data_reorder(data, layout(data.dtype, data.shape), ctx.stream)
    with out.open(layout(INT8, out.shape), ctx.stream) as y:
        ctx.kernel(kernels.norm_bytes(
            out=y, data=x, factors=factors, shifts=shifts, outer=data.size // (channels * inner),
            channels=channels, inner=inner, is_signed=data.dtype == INT8))


def join(ctx: OpContext, parts: list[NDArray], ends: list[NDArray], axis: int,
         outs: list[Output]) -> None:
    """One behind the other along an axis, in the widest of their ranges."""
    out, dtype = outs[0], outs[0].array.dtype
    can_add(out)
    low, high, given = number(ctx), number(ctx), ends_of(ends, ctx)
    for end in (low, high):
        ctx.kernel(fill(out=end, n=1, value=0.0))
    for i in range(len(parts)):
        ctx.kernel(kernels.widen_range(low=low, high=high, data_low=given[2 * i],
                                       data_high=given[2 * i + 1]))
    # channels-last is a layout of axis 1
    layout = layout_of(parts[0], ctx) if axis == 1 else default_desc
    # as rows of what lies behind the axis in memory, and of the axis itself
    inner = 1 if layout is channels_last_desc else prod(out.shape[axis + 1:])
    columns = out.shape[axis] * inner
    rows, first = prod(out.shape) // max(columns, 1), 0
    with out.open(layout(dtype, out.shape), ctx.stream) as y:
        for i, part in enumerate(parts):
            scale, width = number(ctx), part.shape[axis] * inner
            ctx.kernel(kernels.rescale(
                scale=scale, data_low=given[2 * i], data_high=given[2 * i + 1], low=low,
                high=high, data_most=float(HALF_OVER[part.dtype]), most=float(HALF_OVER[dtype])))
            x = get_data_reorder(part, layout(part.dtype, part.shape), ctx.stream)
            ctx.kernel(kernels.join_bytes(
                out=y, data=x, scale=scale, rows=rows, width=width, columns=columns, first=first,
                is_data_signed=part.dtype == INT8, is_signed=dtype == INT8))
            first += width
    for end, told in zip((low, high), outs[1:], strict=True):
        put(ctx, end, told)


# ---- windows ------------------------------------------------------------------------------------


def refuses_windows(win: Windows) -> str | None:
    if prod(win.kernel) > 1 << 22:
        return "windows whose sums may be beyond int32"
    return None


def pool(ctx: OpContext, data: NDArray, out: Output, win: Windows, channels_last: bool,
         is_max: bool, includes_pad: bool) -> None:
    """In the layout of the data: its axes as they are, or channels-last."""
    can_add(out)
    layout = default_desc if channels_last else layout_of(data, ctx)
    apart = not channels_last and layout is default_desc
    x = get_data_reorder(data, layout(data.dtype, data.shape), ctx.stream)
    images, channels = data.shape[0], data.shape[-1 if channels_last else 1]
    left = 3 - len(win.data)
    one, none = (1,) * left, (0,) * left
    with out.open(layout(data.dtype, out.shape), ctx.stream) as y:
        ctx.kernel(pool_bytes(
            out=y, data=x, outer=images * channels if apart else images,
            lanes=1 if apart else channels, sides=(*one, *win.data), windows=(*one, *win.out),
            kernel=(*one, *win.kernel), stride=(*one, *win.stride), pad=(*none, *win.pad),
            is_signed=data.dtype == INT8, is_max=is_max, includes_pad=includes_pad))
