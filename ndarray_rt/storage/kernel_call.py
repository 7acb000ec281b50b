"""KernelCall: a native kernel with the arrays, counts and numbers that it gets.

Made by the functions in `storage/kernels`, run or recorded by a stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .stream import Mem


class KernelCall(NamedTuple):
    """A kernel of `ndrt_kernel_id` and its arguments, in the order that the kernel defines."""

    kernel: int
    arrays: tuple[Mem | None, ...]
    counts: tuple[int, ...]
    numbers: tuple[float, ...]
