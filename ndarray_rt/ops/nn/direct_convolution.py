"""Convolutions by native kernels: depthwise ones, those of images of a few channels, and with AVX2
those of 3x3 and strided ones of one pixel as an implicit GEMM.

oneDNN's depthwise kernels load a vector of data for each multiply-add, and its first convolution of
a network wastes a third of its time where windows are small. Its other kernels for AVX2 also
multiply the padding of small images, and do not prefetch weights.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ..._array.layout import get_data_reorder, grouped_dims
from ...native import lib
from ...op.calibration import (
    ALIASING_PIXELS,
    FEW_CHANNELS_WINDOWS,
    LEAST_CHANNELS_OF_WINDOWS,
    LEAST_DEPTHWISE_PIXELS,
    LEAST_OF_LAST_BLOCK,
    LEAST_PIXELS_OF_WINDOWS,
)
from ...op.choose import BLOCK, CHANNELS_LAST, NATIVE
from ...op.context import OpContext
from ...op.select import Implementation
from ...storage.desc import MemDesc, channels_last_desc, default_desc, tagged_desc
from ...storage.kernel_call import KernelCall
from ...storage.kernels.conv import depthwise, few_channels, implicit_gemm
from .conv_call import ConvolutionCall
from .packed_gemm import MORE_IS_DONE, operands
from .pointwise_convolution import is_pointwise

DEPTHWISE_WINDOW, DEPTHWISE_STRIDES = (3, 3), ((1, 1), (2, 2))
FEW_CHANNELS_STRIDES = ((1, 1), (2, 2), (4, 4))


def _accepts(call: ConvolutionCall) -> str | None:
    """Why neither direct convolution can do it."""
    geo = call.geo
    if call.epilogue is None or call.epilogue.added is not None:
        return "more is done to the result than to keep it within bounds"
    if len(geo.kernel) != 2 or set(geo.dilate) != {1} or geo.pad != geo.pad_end:
        return "windows are not of two axes, or have gaps or uneven padding"
    if 0 in call.data.shape or 0 in call.out.shape or call.out.shape[1] % BLOCK:
        return f"output channels are no multiple of {BLOCK}, or an array is empty"
    return None


def _accepts_depthwise(ctx: OpContext, call: ConvolutionCall) -> str | None:
    geo = call.geo
    if not 1 < geo.groups == call.data.shape[1] == call.out.shape[1]:
        return "not a channel in each group"
    if geo.kernel != DEPTHWISE_WINDOW or geo.stride not in DEPTHWISE_STRIDES:
        return f"a window of {geo.kernel} with strides of {geo.stride}"
    return _accepts(call)


def _pays_as_depthwise(ctx: OpContext, call: ConvolutionCall) -> str | None:
    if prod(call.out.shape[2:]) < LEAST_DEPTHWISE_PIXELS:
        return f"an image has fewer than {LEAST_DEPTHWISE_PIXELS} pixels"
    apart = call.geo.stride[1] * call.data.shape[1]
    if ALIASING_PIXELS and apart % ALIASING_PIXELS == 0:
        return f"its pixels are {apart} numbers apart"
    return None


def _depthwise_weights(call: ConvolutionCall) -> MemDesc:
    return tagged_desc(call.data.dtype, grouped_dims(call.weight.shape, call.geo.groups),
                       f"Abcde{BLOCK}a")


def _run_depthwise(ctx: OpContext, call: ConvolutionCall) -> None:
    _run(ctx, call, depthwise,
         channels_last_desc(call.data.dtype, call.data.shape), _depthwise_weights(call))


def _accepts_few_channels(ctx: OpContext, call: ConvolutionCall) -> str | None:
    geo = call.geo
    if geo.groups != 1 or call.data.shape[1] > lib.NDRT_FEW_CHANNELS_MOST:
        return f"groups, or more than {lib.NDRT_FEW_CHANNELS_MOST} channels"
    if geo.kernel not in FEW_CHANNELS_WINDOWS or geo.stride not in FEW_CHANNELS_STRIDES:
        return f"a window of {geo.kernel} with strides of {geo.stride}"
    return _accepts(call)


def _filter_blocks(call: ConvolutionCall) -> MemDesc:
    return tagged_desc(call.data.dtype, call.weight.shape, f"Acdb{BLOCK}a")


def _run_few_channels(ctx: OpContext, call: ConvolutionCall) -> None:
    _run(ctx, call, few_channels, default_desc(call.data.dtype, call.data.shape),
         _filter_blocks(call))


def _run(ctx: OpContext, call: ConvolutionCall, kernel: Callable[..., KernelCall], data: MemDesc,
         packed: MemDesc) -> None:
    geo, out, epilogue = call.geo, call.out, call.epilogue
    assert epilogue is not None
    images, channels, height, width = call.data.shape
    sources = operands(ctx, call.data, data, call.weight, packed, call.bias, geo.groups)
    with out.open(channels_last_desc(call.data.dtype, out.shape), ctx.stream) as y:
        ctx.kernel(kernel(
            out=y, data=sources.data, weights=sources.weight, bias=sources.bias, images=images,
            channels=channels, height=height, width=width, filters=out.shape[1],
            window=geo.kernel[0], stride=geo.stride[0], pad_y=geo.pad[0], pad_x=geo.pad[1],
            low=epilogue.low, high=epilogue.high))


def _accepts_implicit_gemm(ctx: OpContext, call: ConvolutionCall) -> str | None:
    geo = call.geo
    if not LEAST_CHANNELS_OF_WINDOWS:
        return "measured with AVX2 alone"
    if call.epilogue is None:
        return MORE_IS_DONE
    if is_pointwise(geo, call.data.shape, call.out.shape):
        # those of small images find their weight in another layout
        return "a product of matrices"
    if geo.groups != 1 or len(geo.kernel) != 2 or set(geo.dilate) != {1} or geo.pad != geo.pad_end:
        return "groups, or windows that are not of two axes, or have gaps or uneven padding"
    return "an array is empty" if 0 in call.data.shape or 0 in call.out.shape else None


def _pays_as_implicit_gemm(ctx: OpContext, call: ConvolutionCall) -> str | None:
    geo, (_, channels, *_), (_, filters, *image) = call.geo, call.data.shape, call.out.shape
    least = LEAST_CHANNELS_OF_WINDOWS.get(geo.kernel)
    if least is None or channels < least:
        return f"a window of {geo.kernel}, or of too few channels"
    if prod(image) < LEAST_PIXELS_OF_WINDOWS:
        return f"an image has fewer than {LEAST_PIXELS_OF_WINDOWS} pixels"
    if 0 < filters % BLOCK < LEAST_OF_LAST_BLOCK:
        return f"the last of {BLOCK} filters are fewer than {LEAST_OF_LAST_BLOCK}"
    return None


def _run_implicit_gemm(ctx: OpContext, call: ConvolutionCall) -> None:
    geo, out, epilogue = call.geo, call.out, call.epilogue
    assert epilogue is not None
    images, channels, height, width = call.data.shape
    _, filters, rows, columns = out.shape
    seen = channels_last_desc(call.data.dtype, out.shape)
    sources = operands(ctx, call.data, channels_last_desc(call.data.dtype, call.data.shape),
                       call.weight, _filter_blocks(call), call.bias)
    added = None
    if epilogue.added is not None:
        added = get_data_reorder(epilogue.added, seen, ctx.stream)
    with out.open(seen, ctx.stream, inplace_of=added) as y:
        ctx.kernel(implicit_gemm(
            out=y, data=sources.data, weights=sources.weight, bias=sources.bias, added=added,
            images=images, channels=channels, height=height, width=width, filters=filters,
            window=geo.kernel, stride=geo.stride, pad=geo.pad, rows=rows, columns=columns,
            low=epilogue.low, high=epilogue.high))


DEPTHWISE = Implementation[ConvolutionCall](
    "direct depthwise convolution", NATIVE, _run_depthwise, _accepts_depthwise, _pays_as_depthwise,
    _depthwise_weights, layouts=(CHANNELS_LAST,))
FEW_CHANNELS = Implementation[ConvolutionCall](
    "direct convolution of few channels", NATIVE, _run_few_channels, _accepts_few_channels,
    packs=_filter_blocks, layouts=(CHANNELS_LAST,))
IMPLICIT_GEMM = Implementation[ConvolutionCall](
    "packed GEMM of windows", NATIVE, _run_implicit_gemm, _accepts_implicit_gemm,
    _pays_as_implicit_gemm, _filter_blocks, layouts=(CHANNELS_LAST,))
