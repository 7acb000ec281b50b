"""Calls of the native kernels in native/kernels/gemm/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def few_rows(*, out: Mem, data: Mem, weights: Mem, bias: Mem | None = None, rows: int,
             features: int, columns: int, width: int, low: float, high: float) -> KernelCall:
    """data times weights plus bias within bounds. Weights are blocks of `width` columns, of as many
    features each time as a vector has lanes (16; 8 without AVX-512), the last ones padded."""
    return KernelCall(lib.NDRT_KERNEL_FEW_ROWS, (out, data, weights, bias), (rows, features,
                      columns, width), (low, high))


def products(*, out: Mem, data: Mem, weights: Mem, bias: Mem | None = None,
             added: Mem | None = None, rows: int, features: int, columns: int, width: int,
             low: float, high: float) -> KernelCall:
    """data times weights plus bias plus `added` within bounds; weights as of few_rows, in blocks of
    so many columns or a multiple of them."""
    return KernelCall(lib.NDRT_KERNEL_PRODUCTS, (out, data, weights, bias, added), (rows, features,
                      columns, width), (low, high))
