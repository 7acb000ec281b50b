"""Calls of the native kernels in native/kernels/conv/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def whole_depthwise(*, out: Mem, data: Mem, weights: Mem, scratch: Mem, bias: Mem | None = None,
                    shift: Mem | None = None, scale: Mem | None = None, scales: Mem | None = None,
                    added: Mem | None = None, added_scale: Mem | None = None, images: int,
                    channels: int, height: int, width: int, window: Sequence[int],
                    stride: Sequence[int], dilate: Sequence[int], pad: Sequence[int], rows: int,
                    columns: int, is_signed: bool, kind: int, added_kind: int = 0,
                    first_slope: float, first_low: float, first_high: float, last_slope: float,
                    last_low: float, last_high: float, zero: float = 0.0,
                    out_zero: float = 0.0) -> KernelCall:
    """As whole_windows, with a filter for each of at least 16 channels, windows of up to
    NDRT_WHOLE_PLACES places. Weights (y, x, channels), int8; scratch has
    ndrt_whole_depthwise_scratch bytes."""
    assert len(window) == 2
    assert len(stride) == 2
    assert len(dilate) == 2
    assert len(pad) == 2
    return KernelCall(lib.NDRT_KERNEL_WHOLE_DEPTHWISE, (out, data, weights, scratch, bias, shift,
                      scale, scales, added, added_scale), (images, channels, height, width, *window,
                      *stride, *dilate, *pad, rows, columns, is_signed, kind, added_kind),
                      (first_slope, first_low, first_high, last_slope, last_low, last_high, zero,
                      out_zero))


def depthwise(*, out: Mem, data: Mem, weights: Mem, bias: Mem | None = None, images: int,
              channels: int, height: int, width: int, filters: int, window: int, stride: int,
              pad_y: int, pad_x: int, low: float, high: float) -> KernelCall:
    """A filter for each channel, windows of 3, strides of 1 or 2; all is channels-last, weights
    (for each 16 channels: y x 16)."""
    return KernelCall(lib.NDRT_KERNEL_DEPTHWISE, (out, data, weights, bias), (images, channels,
                      height, width, filters, window, stride, pad_y, pad_x), (low, high))


def few_channels(*, out: Mem, data: Mem, weights: Mem, bias: Mem | None = None, images: int,
                 channels: int, height: int, width: int, filters: int, window: int, stride: int,
                 pad_y: int, pad_x: int, low: float, high: float) -> KernelCall:
    """Up to NDRT_FEW_CHANNELS_MOST channels, windows of up to NDRT_FEW_CHANNELS_WINDOW, strides of
    1, 2 or 4; data is plain, out channels-last, weights (for each 16 filters: y x channels 16)."""
    return KernelCall(lib.NDRT_KERNEL_FEW_CHANNELS, (out, data, weights, bias), (images, channels,
                      height, width, filters, window, stride, pad_y, pad_x), (low, high))


def implicit_gemm(*, out: Mem, data: Mem, weights: Mem, bias: Mem | None = None,
                  added: Mem | None = None, images: int, channels: int, height: int, width: int,
                  filters: int, window: Sequence[int], stride: Sequence[int], pad: Sequence[int],
                  rows: int, columns: int, low: float, high: float) -> KernelCall:
    """Windows over channels-last images, plus bias plus `added` within bounds: out (images, rows,
    columns, filters), weights (for each NDRT_PACKED_FILTERS filters: y x channels filters),
    padded."""
    assert len(window) == 2
    assert len(stride) == 2
    assert len(pad) == 2
    return KernelCall(lib.NDRT_KERNEL_IMPLICIT_GEMM, (out, data, weights, bias, added), (images,
                      channels, height, width, filters, *window, *stride, *pad, rows, columns),
                      (low, high))


def separable(*, out: Mem, data: Mem, scratch: Mem, depthwise: Mem, projection: Mem,
              expansion: Mem | None = None, expansion_bias: Mem | None = None,
              depthwise_bias: Mem | None = None, projection_bias: Mem | None = None,
              added: Mem | None = None, images: int, channels: int, height: int, width: int,
              between: int, filters: int, stride: int, pad_y: int, pad_x: int, expansion_width: int,
              projection_width: int, slots: int, expansion_low: float, expansion_high: float,
              depthwise_low: float, depthwise_high: float, low: float, high: float) -> KernelCall:
    """Products of pixels (the expansion), windows of 3x3 over these, products of the pixels of
    that, each within bounds; `slots`: threads that scratch has room for, each
    ndrt_separable_scratch numbers."""
    return KernelCall(lib.NDRT_KERNEL_SEPARABLE, (out, data, scratch, depthwise, projection,
                      expansion, expansion_bias, depthwise_bias, projection_bias, added), (images,
                      channels, height, width, between, filters, stride, pad_y, pad_x,
                      expansion_width, projection_width, slots), (expansion_low, expansion_high,
                      depthwise_low, depthwise_high, low, high))
