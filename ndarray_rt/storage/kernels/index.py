"""Calls of the native kernels in native/kernels/index/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def join_rows(*, out: Mem, parts: Sequence[Mem], rows: int, columns: int,
              widths: Sequence[int]) -> KernelCall:
    """The rows of up to NDRT_JOINED_MOST arrays one behind the other."""
    return KernelCall(lib.NDRT_KERNEL_JOIN_ROWS, (out, *parts), (rows, columns, len(parts),
                      *widths), ())


def join_scaled(*, out: Mem, factors: Mem, shifts: Mem, parts: Sequence[Mem], rows: int,
                columns: int, rectify: bool, widths: Sequence[int]) -> KernelCall:
    """The same of up to NDRT_SCALED_MOST arrays, each column times its factor plus its shift, and 0
    where `rectify` and that is not above it; columns behind those of the last array stay."""
    return KernelCall(lib.NDRT_KERNEL_JOIN_SCALED, (out, factors, shifts, *parts), (rows, columns,
                      len(parts), rectify, *widths), ())
