"""Convolutions of float64 and int32: a blocked product of the filters and of windows that are
gathered while it is computed."""

from __future__ import annotations

from math import prod

from ..._array.layout import get_default
from ...op.choose import NATIVE
from ...op.context import OpContext
from ...op.registry import Shape
from ...op.select import Implementation
from ...storage.desc import default_desc
from ...storage.kernels.gemm import blocked_windows
from ..blocked_gemm import DTYPES, UNBOUNDED, scratch_of
from ..fused.post_ops import chain_bounds
from ..tensor.places import can_add
from .conv_call import ConvolutionCall


def _accepts(ctx: OpContext, call: ConvolutionCall) -> str | None:
    if call.data.ndim > 4:
        return "images of three axes"
    if call.operands or chain_bounds(call.chain) is None:
        return "more is done to the result than to keep it within bounds"
    if call.data.dtype != DTYPES[0] and chain_bounds(call.chain) != UNBOUNDED:
        return f"bounds of {call.data.dtype}"
    return None


def _two(sizes: Shape, missing: int) -> Shape:
    """Of a line as an image of one row."""
    return sizes if len(sizes) == 2 else (missing, *sizes)


def _run(ctx: OpContext, call: ConvolutionCall) -> None:
    can_add(call.out)
    geo, stream, dtype = call.geo, ctx.stream, call.data.dtype
    images, channels, *size = call.data.shape
    filters, *out_size = call.out.shape[1:]
    groups = geo.groups
    x, w = get_default(call.data, stream), get_default(call.weight, stream)
    bias = None if call.bias is None else get_default(call.bias, stream)
    slots, scratch = scratch_of(ctx, dtype, filters // groups,
                                channels // groups * prod(geo.kernel), prod(out_size))
    low, high = chain_bounds(call.chain) or UNBOUNDED
    with call.out.open(default_desc(dtype, call.out.shape), stream) as y:
        ctx.kernel(blocked_windows(
            out=y, data=x, weights=w, scratch=scratch, bias=bias, images=images, groups=groups,
            channels=channels // groups, filters=filters // groups, size=_two(tuple(size), 1),
            window=_two(geo.kernel, 1), stride=_two(geo.stride, 1), dilate=_two(geo.dilate, 1),
            pad=_two(geo.pad, 0), out_size=_two(tuple(out_size), 1), kind=y.desc.dtype_code,
            slots=slots, low=low, high=high))


BLOCKED_WINDOWS = Implementation[ConvolutionCall](
    "blocked windows", NATIVE, _run, _accepts, dtypes=DTYPES)
