"""Calls of the native kernels in native/kernels/elementwise/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def quantized(*, out: Mem, data: Mem, scale: Mem, zero: Mem, outer: int, channels: int, inner: int,
              low: float, high: float) -> KernelCall:
    """What data come back as from whole numbers within limits: (round(data / scale) + zero, kept
    within them, - zero) scale; one scale and zero of a channel."""
    return KernelCall(lib.NDRT_KERNEL_QUANTIZED, (out, data, scale, zero), (outer, channels, inner),
                      (low, high))
