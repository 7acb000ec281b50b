"""Calls of the native kernels in native/kernels/vision/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def resize_axis(*, out: Mem, data: Mem, outer: int, size: int, made: int, inner: int, kind: int,
                back: bool) -> KernelCall:
    """Along an axis from `size` to `made` places, as ndrt_resize_kind says, or with `back` the
    gradient of that."""
    return KernelCall(lib.NDRT_KERNEL_RESIZE_AXIS, (out, data), (outer, size, made, inner, kind,
                      back), ())
