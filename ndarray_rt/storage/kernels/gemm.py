"""Calls of the native kernels in native/kernels/gemm/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def skinny_gemm(*, out: Mem, data: Mem, weights: Mem, bias: Mem | None = None, rows: int,
                features: int, columns: int, width: int, low: float, high: float) -> KernelCall:
    """data times weights plus bias within bounds. Weights are blocks of `width` columns, of as many
    features each time as a vector has lanes (16; 8 without AVX-512), the last ones padded."""
    return KernelCall(lib.NDRT_KERNEL_SKINNY_GEMM, (out, data, weights, bias), (rows, features,
                      columns, width), (low, high))


def whole_windows(*, out: Mem, data: Mem, weights: Mem, scratch: Mem, bias: Mem | None = None,
                  shift: Mem | None = None, scale: Mem | None = None, scales: Mem | None = None,
                  added: Mem | None = None, added_scale: Mem | None = None, images: int,
                  channels: int, height: int, width: int, filters: int, window: Sequence[int],
                  stride: Sequence[int], dilate: Sequence[int], pad: Sequence[int], rows: int,
                  columns: int, groups: int, is_signed: bool, slots: int, kind: int,
                  added_kind: int = 0, first_slope: float, first_low: float, first_high: float,
                  last_slope: float, last_low: float, last_high: float, zero: float = 0.0,
                  out_zero: float = 0.0) -> KernelCall:
    """Windows over channels-last images of 8-bit numbers: out (images, rows, columns, filters) of
    kind S32, which are the sums with the bias, or F32, S8 or U8, as in `to_bytes`, plus `out_zero`.
    `zero` is the number of data that stands for 0. Weights as of `pack_whole`; scratch has
    ndrt_whole_scratch bytes for each of `slots` threads."""
    assert len(window) == 2
    assert len(stride) == 2
    assert len(dilate) == 2
    assert len(pad) == 2
    return KernelCall(lib.NDRT_KERNEL_WHOLE_WINDOWS, (out, data, weights, scratch, bias, shift,
                      scale, scales, added, added_scale), (images, channels, height, width, filters,
                      *window, *stride, *dilate, *pad, rows, columns, groups, is_signed, slots,
                      kind, added_kind), (first_slope, first_low, first_high, last_slope, last_low,
                      last_high, zero, out_zero))


def pack_whole(*, out: Mem, data: Mem, filters: int, channels: int, window: Sequence[int],
               groups: int) -> KernelCall:
    """int8 weights (filters, channels of a group, y, x) as `whole_windows` reads them, in
    ndrt_whole_packed bytes: see ndrt_whole_layout.h."""
    assert len(window) == 2
    return KernelCall(lib.NDRT_KERNEL_PACK_WHOLE, (out, data), (filters, channels, *window, groups),
                      ())


def byte_products(*, out: Mem, left: Mem, right: Mem, scratch: Mem, scale: Mem | None = None,
                  batches: int, rows: int, columns: int, depth: int, left_batch: int, left_row: int,
                  right_batch: int, right_row: int, right_column: int, out_batch: int, out_row: int,
                  left_signed: bool, right_signed: bool, kind: int, slots: int,
                  factor: float) -> KernelCall:
    """Products of matrices, left (rows, depth) and right (depth, columns) of int8 or uint8, as kind
    S32, times a factor of at most 1, or F32 or S8 times the scale, as in `to_bytes`. Matrices and
    their rows lie that far apart, columns of left and out side by side, and so do columns or rows
    of right. Depth is at most NDRT_BYTE_PRODUCTS_MOST; scratch has ndrt_byte_products_scratch bytes
    for each of `slots` threads."""
    return KernelCall(lib.NDRT_KERNEL_BYTE_PRODUCTS, (out, left, right, scratch, scale), (batches,
                      rows, columns, depth, left_batch, left_row, right_batch, right_row,
                      right_column, out_batch, out_row, left_signed, right_signed, kind, slots),
                      (factor,))


def dynamic_dense(*, out: Mem, data: Mem, weights: Mem, scales: Mem, scratch: Mem,
                  bias: Mem | None = None, rows: int, features: int, columns: int, is_signed: bool,
                  per_tensor: bool) -> KernelCall:
    """Rows of floats times 8-bit weights, rounded to 8 bits when they come: int8 around 0, or uint8
    from the least number to the greatest; each in its own range, or all in one. out (rows, columns)
    is the int32 sums times both scales, plus bias. Weights (for each NDRT_WHOLE_BLOCK columns: for
    each 2 features: columns 2), padded with zeros, scales (columns,); scratch has 3 floats for each
    row, and then its features in 16 bits, padded to an even number. Rows with numbers that are not
    finite give NaN."""
    return KernelCall(lib.NDRT_KERNEL_DYNAMIC_DENSE, (out, data, weights, scales, scratch, bias),
                      (rows, features, columns, is_signed, per_tensor), ())


def packed_gemm(*, out: Mem, data: Mem, weights: Mem, bias: Mem | None = None,
                added: Mem | None = None, rows: int, features: int, columns: int, width: int,
                groups: int, shuffled: int, low: float, high: float) -> KernelCall:
    """data times weights plus bias plus `added` within bounds; weights as of skinny_gemm, in blocks
    of so many columns or a multiple of them. Rows have `groups` of features and columns (from 2 on
    features of weights are not padded); data is read as its channels shuffled from `shuffled`
    groups (1: as it is)."""
    return KernelCall(lib.NDRT_KERNEL_PACKED_GEMM, (out, data, weights, bias, added), (rows,
                      features, columns, width, groups, shuffled), (low, high))


def blocked_gemm(*, out: Mem, a: Mem, b: Mem, scratch: Mem, bias: Mem | None = None,
                 added: Mem | None = None, products: Sequence[int], rows: int, depth: int,
                 columns: int, a_steps: Sequence[int], b_steps: Sequence[int],
                 out_steps: Sequence[int], kind: int, slots: int, alpha: float, beta: float,
                 low: float, high: float) -> KernelCall:
    """alpha times the products of a and b, plus bias of each column, plus beta times `added`,
    within bounds. Steps are elements between products in both directions, rows and columns; columns
    of the result are neighbours, and `added` lies as it does. scratch has ndrt_blocked_scratch
    numbers for `slots` threads."""
    assert len(products) == 2
    assert len(a_steps) == 4
    assert len(b_steps) == 4
    assert len(out_steps) == 3
    return KernelCall(lib.NDRT_KERNEL_BLOCKED_GEMM, (out, a, b, scratch, bias, added), (*products,
                      rows, depth, columns, *a_steps, *b_steps, *out_steps, kind, slots), (alpha,
                      beta, low, high))


def blocked_windows(*, out: Mem, data: Mem, weights: Mem, scratch: Mem, bias: Mem | None = None,
                    images: int, groups: int, channels: int, filters: int, size: Sequence[int],
                    window: Sequence[int], stride: Sequence[int], dilate: Sequence[int],
                    pad: Sequence[int], out_size: Sequence[int], kind: int, slots: int, low: float,
                    high: float) -> KernelCall:
    """Windows over images (images, groups, channels, size) plus bias of each filter, within bounds:
    out (images, groups, filters, out_size), weights (groups, filters, channels, window). scratch as
    of blocked_gemm for these filters, numbers of a window and places of an image."""
    assert len(size) == 2
    assert len(window) == 2
    assert len(stride) == 2
    assert len(dilate) == 2
    assert len(pad) == 2
    assert len(out_size) == 2
    return KernelCall(lib.NDRT_KERNEL_BLOCKED_WINDOWS, (out, data, weights, scratch, bias), (images,
                      groups, channels, filters, *size, *window, *stride, *dilate, *pad, *out_size,
                      kind, slots), (low, high))
