"""Calls of the native kernels in native/kernels/elementwise/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def add_to(*, out: Mem, data: Mem, n: int) -> KernelCall:
    """out += data."""
    return KernelCall(lib.NDRT_KERNEL_ADD_TO, (out, data), (n,), ())


def copy(*, out: Mem, data: Mem, nbytes: int) -> KernelCall:
    """The same; they may overlap."""
    return KernelCall(lib.NDRT_KERNEL_COPY, (out, data), (nbytes,), ())


def zero(*, out: Mem, nbytes: int) -> KernelCall:
    """All bits are 0."""
    return KernelCall(lib.NDRT_KERNEL_ZERO, (out,), (nbytes,), ())


def fill(*, out: Mem, n: int, value: float) -> KernelCall:
    """The same number everywhere."""
    return KernelCall(lib.NDRT_KERNEL_FILL, (out,), (n,), (value,))


def blend(*, out: Mem, data: Mem, n: int, a: float, b: float) -> KernelCall:
    """out = a out + b data."""
    return KernelCall(lib.NDRT_KERNEL_BLEND, (out, data), (n,), (a, b))


def sloped(*, out: Mem, x: Mem, slopes: Mem, data: Mem, n: int) -> KernelCall:
    """data, times its slope where x is not above 0."""
    return KernelCall(lib.NDRT_KERNEL_SLOPED, (out, x, slopes, data), (n,), ())


def bias_grad(*, out: Mem, data: Mem, rows: int, channels: int) -> KernelCall:
    """The sums of columns."""
    return KernelCall(lib.NDRT_KERNEL_BIAS_GRAD, (out, data), (rows, channels), ())


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
