"""Calls of the native kernels in native/kernels/pool/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def lost_maxima(*, out: Mem, data: Mem, places: Mem | None = None, outer: int, lanes: int,
                sides: Sequence[int], windows: Sequence[int], kernel: Sequence[int],
                stride: Sequence[int], pad: Sequence[int], places_dtype: int) -> KernelCall:
    """Does again what max pooling by oneDNN loses: (outer, three axes, lanes); places of the maxima
    are u8 or s32."""
    assert len(sides) == 3
    assert len(windows) == 3
    assert len(kernel) == 3
    assert len(stride) == 3
    assert len(pad) == 3
    return KernelCall(lib.NDRT_KERNEL_LOST_MAXIMA, (out, data, places), (outer, lanes, *sides,
                      *windows, *kernel, *stride, *pad, places_dtype), ())


def max_pool(*, out: Mem, data: Mem, outer: int, lanes: int, sides: Sequence[int],
             windows: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
             pad: Sequence[int], low: float, high: float) -> KernelCall:
    """Maxima within bounds; each window meets data, and along the first two axes has up to
    NDRT_MAX_POOL_ROWS places."""
    assert len(sides) == 3
    assert len(windows) == 3
    assert len(kernel) == 3
    assert len(stride) == 3
    return KernelCall(lib.NDRT_KERNEL_MAX_POOL, (out, data), (outer, lanes, *sides, *windows,
                      *kernel, *stride, *pad), (low, high))


def pool_bytes(*, out: Mem, data: Mem, outer: int, lanes: int, sides: Sequence[int],
               windows: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
               pad: Sequence[int], is_signed: bool, is_max: bool, includes_pad: bool) -> KernelCall:
    """Maxima or averages of int8 or uint8, (outer, three axes, lanes); an average is the sum by the
    size of the kernel, or of what it meets of data, to the nearest, halves to even. A maximum of
    nothing is the least number, an average 0."""
    assert len(sides) == 3
    assert len(windows) == 3
    assert len(kernel) == 3
    assert len(stride) == 3
    assert len(pad) == 3
    return KernelCall(lib.NDRT_KERNEL_POOL_BYTES, (out, data), (outer, lanes, *sides, *windows,
                      *kernel, *stride, *pad, is_signed, is_max, includes_pad), ())
