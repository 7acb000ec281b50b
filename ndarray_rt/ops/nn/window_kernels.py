"""Convolutions by kernels of the package: depthwise ones, and those of images of a few channels.

oneDNN's depthwise kernels load a vector of data for each multiply-add, and its first convolution of
a network wastes a third of its time where windows are small.
"""

from __future__ import annotations

from collections.abc import Callable

from ..._array.layout import grouped_dims
from ...native import lib
from ...op.calibration import FEW_CHANNELS_WINDOWS
from ...op.choose import BLOCK, CHANNELS_LAST, OURS
from ...op.context import OpContext
from ...op.select import Implementation
from ...storage.desc import MemDesc, channels_last_desc, default_desc, tagged_desc
from ...storage.kernel_call import KernelCall
from ...storage.kernels.conv import depthwise, few_channels
from .conv_call import ConvolutionCall
from .kept_products import operands

DEPTHWISE_WINDOW, DEPTHWISE_STRIDES = (3, 3), ((1, 1), (2, 2))
FEW_CHANNELS_STRIDES = ((1, 1), (2, 2), (4, 4))


def _accepts(call: ConvolutionCall) -> str | None:
    """What neither kernel can do."""
    geo = call.geo
    if call.finish is None or call.finish.added is not None:
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


def _few_channels_weights(call: ConvolutionCall) -> MemDesc:
    return tagged_desc(call.data.dtype, call.weight.shape, f"Acdb{BLOCK}a")


def _run_few_channels(ctx: OpContext, call: ConvolutionCall) -> None:
    _run(ctx, call, few_channels, default_desc(call.data.dtype, call.data.shape),
         _few_channels_weights(call))


def _run(ctx: OpContext, call: ConvolutionCall, kernel: Callable[..., KernelCall], data: MemDesc,
         packed: MemDesc) -> None:
    geo, out, finish = call.geo, call.out, call.finish
    assert finish is not None
    images, channels, height, width = call.data.shape
    sources = operands(ctx, call.data, data, call.weight, packed, call.bias, geo.groups)
    with out.open(channels_last_desc(call.data.dtype, out.shape), ctx.stream) as y:
        ctx.kernel(kernel(
            out=y, data=sources.data, weights=sources.weight, bias=sources.bias, images=images,
            channels=channels, height=height, width=width, filters=out.shape[1],
            window=geo.kernel[0], stride=geo.stride[0], pad_y=geo.pad[0], pad_x=geo.pad[1],
            low=finish.low, high=finish.high))


DEPTHWISE = Implementation[ConvolutionCall](
    "direct depthwise convolution", OURS, _run_depthwise, _accepts_depthwise,
    packs=_depthwise_weights, families=(CHANNELS_LAST,))
FEW_CHANNELS = Implementation[ConvolutionCall](
    "direct convolution of few channels", OURS, _run_few_channels, _accepts_few_channels,
    packs=_few_channels_weights, families=(CHANNELS_LAST,))
