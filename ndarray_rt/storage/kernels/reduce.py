"""Calls of the native kernels in native/kernels/reduce/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def reduce(*, out: Mem, data: Mem, parts: Mem | None = None, outer: int, length: int, inner: int,
           kind: int, what: int, factor: float) -> KernelCall:
    """data reduced along the middle, as ndrt_reduction says, times a factor; kind F32, F64 or S32.
    For rows of more than NDRT_REDUCE_BLOCK `parts` has a number for each block of each."""
    return KernelCall(lib.NDRT_KERNEL_REDUCE, (out, data, parts), (outer, length, inner, kind,
                      what), (factor,))


def arg_extreme(*, out: Mem, data: Mem, outer: int, length: int, inner: int, kind: int,
                least: int) -> KernelCall:
    """The place of the greatest, or with `least` the least element along the middle."""
    return KernelCall(lib.NDRT_KERNEL_ARG_EXTREME, (out, data), (outer, length, inner, kind, least),
                      ())


def running_sum(*, out: Mem, data: Mem, outer: int, length: int, inner: int, kind: int,
                backwards: int) -> KernelCall:
    """Sums up to each element along the middle, or from the end."""
    return KernelCall(lib.NDRT_KERNEL_RUNNING_SUM, (out, data), (outer, length, inner, kind,
                      backwards), ())


def softmax_columns(*, out: Mem, data: Mem, outer: int, length: int, inner: int, log: int,
                    divisor: float, sign: float) -> KernelCall:
    """Softmax along the middle, or its logarithm, of data by `divisor` times `sign`."""
    return KernelCall(lib.NDRT_KERNEL_SOFTMAX_COLUMNS, (out, data), (outer, length, inner, log),
                      (divisor, sign))


def product_grad(*, dx: Mem, dy: Mem, data: Mem, outer: int, length: int, inner: int) -> KernelCall:
    """Each element times the product of the others along the middle, times dy."""
    return KernelCall(lib.NDRT_KERNEL_PRODUCT_GRAD, (dx, dy, data), (outer, length, inner), ())


def prelu(*, out: Mem, data: Mem, slopes: Mem, outer: int, blocks: int, inner: int,
          channels: int) -> KernelCall:
    """data, times the slope of its channel where it is not above 0."""
    return KernelCall(lib.NDRT_KERNEL_PRELU, (out, data, slopes), (outer, blocks, inner, channels),
                      ())


def exp(*, out: Mem, data: Mem, n: int) -> KernelCall:
    """e to the power of each element."""
    return KernelCall(lib.NDRT_KERNEL_EXP, (out, data), (n,), ())


def arithmetic(*, out: Mem, left: Mem, right: Mem, n: int, kind: int, what: int) -> KernelCall:
    """What ndrt_arithmetic_id says of two arrays; kind F32, F64 or S32."""
    return KernelCall(lib.NDRT_KERNEL_ARITHMETIC, (out, left, right), (n, kind, what), ())


def step_grad(*, dx: Mem, dy: Mem, data: Mem, n: int, what: int, low: float,
              high: float) -> KernelCall:
    """dy times a slope that is a step (ndrt_step); data of relu: its output."""
    return KernelCall(lib.NDRT_KERNEL_STEP_GRAD, (dx, dy, data), (n, what), (low, high))


def topk(*, values: Mem, places: Mem, data: Mem, scratch: Mem, rows: int, n: int, k: int,
         slots: int, dtype: int, descending: bool, what: int, places_dtype: int) -> KernelCall:
    """The first k of each row in order, those that tie in the order of their places; NaN counts as
    the greatest. dtype F32 or S32; `what`: 1 values, 2 places, 3 both; places F32 or S32; scratch
    is `slots` times ndrt_topk_pairs of 8 bytes."""
    return KernelCall(lib.NDRT_KERNEL_TOPK, (values, places, data, scratch), (rows, n, k, slots,
                      dtype, descending, what, places_dtype), ())


def topk_grad(*, dx: Mem, dy: Mem, places: Mem, rows: int, n: int, k: int,
              places_dtype: int) -> KernelCall:
    """The gradient of the rows."""
    return KernelCall(lib.NDRT_KERNEL_TOPK_GRAD, (dx, dy, places), (rows, n, k, places_dtype), ())


def softmax_grad(*, dx: Mem, y: Mem, dy: Mem, outer: int, length: int, inner: int, log: bool,
                 divisor: float, sign: float) -> KernelCall:
    """The gradient of data from `softmax_columns`, or from rows where inner is 1: y is that
    output."""
    return KernelCall(lib.NDRT_KERNEL_SOFTMAX_GRAD, (dx, y, dy), (outer, length, inner, log),
                      (divisor, sign))


def least_loss(*, threshold: Mem, lost: Mem, hist: Mem, edges: Mem, scratch: Mem, bins: int,
               levels: int, slots: int) -> KernelCall:
    """Beyond which value of a histogram of `bins` around 0, an odd number, what is cut off and told
    apart by `levels` loses least entropy, and what that is; `slots`: threads that scratch has room
    for, each 2 bins, behind them a number for each bin."""
    return KernelCall(lib.NDRT_KERNEL_LEAST_LOSS, (threshold, lost, hist, edges, scratch), (bins,
                      levels, slots), ())
