"""Calls of the native kernels in native/kernels/random/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def philox(*, out: Mem, n: int, key: int, counter: int) -> KernelCall:
    """The words of a stream."""
    return KernelCall(lib.NDRT_KERNEL_PHILOX, (out,), (n, key, counter), ())


def dropout_mask(*, out: Mem, stream: Mem, n: int, bound: float, factor: float) -> KernelCall:
    """`factor` where a word of 24 bits is below `bound`, else 0."""
    return KernelCall(lib.NDRT_KERNEL_DROPOUT_MASK, (out, stream), (n,), (bound, factor))


def dropout(*, out: Mem, stream: Mem, mask: Mem, data: Mem, n: int, bound: float,
            factor: float) -> KernelCall:
    """That as a mask, and data times it."""
    return KernelCall(lib.NDRT_KERNEL_DROPOUT, (out, stream, mask, data), (n,), (bound, factor))


def uniform(*, out: Mem, stream: Mem, n: int, low: float, width: float, limit: float) -> KernelCall:
    """low + width u, at most `limit`."""
    return KernelCall(lib.NDRT_KERNEL_UNIFORM, (out, stream), (n,), (low, width, limit))


def normal(*, out: Mem, stream: Mem, n: int, loc: float, scale: float) -> KernelCall:
    """loc + scale z."""
    return KernelCall(lib.NDRT_KERNEL_NORMAL, (out, stream), (n,), (loc, scale))


def draw(*, out: Mem, stream: Mem, first: Mem | None = None, second: Mem | None = None, n: int,
         distribution: int, each: int, dtype: int, kind: int, a: float, b: float) -> KernelCall:
    """Numbers of an ndrt_distribution in dtype F16, F32 or F64; its parameters are `a` and `b` with
    `each` 0, else arrays of that kind, of which each element makes `each`."""
    return KernelCall(lib.NDRT_KERNEL_DRAW, (out, stream, first, second), (n, distribution, each,
                      dtype, kind), (a, b))


def randint(*, out: Mem, stream: Mem, n: int, least: int, range: int) -> KernelCall:
    """Whole numbers from `least` on; `range`: how many there are, as 64 bits."""
    return KernelCall(lib.NDRT_KERNEL_RANDINT, (out, stream), (n, least, range), ())


def multinomial(*, places: Mem, stream: Mem, data: Mem, totals: Mem, logs: Mem | None = None,
                rows: int, width: int, draws: int, dtype: int, kind: int) -> KernelCall:
    """Places by their probabilities in each row, in a dtype; `totals` has one number more than the
    probabilities of each row; `logs`: their logarithms, in the data's kind."""
    return KernelCall(lib.NDRT_KERNEL_MULTINOMIAL, (places, stream, data, totals, logs), (rows,
                      width, draws, dtype, kind), ())


def shuffle(*, out: Mem, stream: Mem, data: Mem, scratch: Mem, rows: int, width: int) -> KernelCall:
    """Rows of `width` bytes in random order; scratch is 3 times 8 bytes a row, and 8."""
    return KernelCall(lib.NDRT_KERNEL_SHUFFLE, (out, stream, data, scratch), (rows, width), ())
