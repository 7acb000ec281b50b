"""Calls of the native kernels in native/kernels/affine/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def quantize_linear(*, out: Mem, data: Mem, n: int, is_signed: bool, scale: float,
                    zero: float) -> KernelCall:
    """int8 or uint8: floats by the scale, rounded, plus the zero point; 0 of NaN."""
    return KernelCall(lib.NDRT_KERNEL_QUANTIZE_LINEAR, (out, data), (n, is_signed), (scale, zero))


def dequantize_linear(*, out: Mem, data: Mem, n: int, is_signed: bool, scale: float,
                      zero: float) -> KernelCall:
    """int8 or uint8 less the zero point, times the scale."""
    return KernelCall(lib.NDRT_KERNEL_DEQUANTIZE_LINEAR, (out, data), (n, is_signed), (scale, zero))


def add_linear(*, out: Mem, left: Mem, right: Mem, n: int, left_signed: bool, right_signed: bool,
               is_signed: bool, left_scale: float, left_zero: float, right_scale: float,
               right_zero: float, zero: float, low: float, high: float) -> KernelCall:
    """The sum of int8 or uint8, each less its zero point and times its scale, rounded, plus the
    zero point, within bounds."""
    return KernelCall(lib.NDRT_KERNEL_ADD_LINEAR, (out, left, right), (n, left_signed, right_signed,
                      is_signed), (left_scale, left_zero, right_scale, right_zero, zero, low, high))


def map_bytes(*, out: Mem, data: Mem, table: Mem, n: int) -> KernelCall:
    """The byte of the table, which has 256, for each byte of data."""
    return KernelCall(lib.NDRT_KERNEL_MAP_BYTES, (out, data, table), (n,), ())
