"""Calls of the native kernels in native/kernels/elementwise/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def function(*, out: Mem, x: Mem, dy: Mem | None = None, n: int, which: int, p: float,
             q: float) -> KernelCall:
    """A function (ndrt_function_id) of x and two numbers; a slope is multiplied by dy."""
    return KernelCall(lib.NDRT_KERNEL_FUNCTION, (out, x, dy), (n, which), (p, q))


def scalar(*, out: Mem, x: Mem, n: int, kind: int, which: int, p: float) -> KernelCall:
    """A function (ndrt_function_id) of x and p; kind F16, F64, S32, S8, U8 or NDRT_INDEX_S64."""
    return KernelCall(lib.NDRT_KERNEL_SCALAR, (out, x), (n, kind, which), (p,))


def quantized(*, out: Mem, data: Mem, scale: Mem, zero: Mem, outer: int, channels: int, inner: int,
              low: float, high: float) -> KernelCall:
    """What data come back as from whole numbers within limits: (round(data / scale) + zero, kept
    within them, - zero) scale; one scale and zero of a channel."""
    return KernelCall(lib.NDRT_KERNEL_QUANTIZED, (out, data, scale, zero), (outer, channels, inner),
                      (low, high))


def widen(*, out: Mem, data: Mem, n: int, kind: int) -> KernelCall:
    """Numbers of 16 bits, of kind F16 or BF16, as floats."""
    return KernelCall(lib.NDRT_KERNEL_WIDEN, (out, data), (n, kind), ())


def narrow(*, out: Mem, data: Mem, n: int, kind: int) -> KernelCall:
    """Floats rounded to numbers of 16 bits, of kind F16 or BF16."""
    return KernelCall(lib.NDRT_KERNEL_NARROW, (out, data), (n, kind), ())
