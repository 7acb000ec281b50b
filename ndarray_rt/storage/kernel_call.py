"""KernelCall: which native kernel does what to which memories, with which numbers.

Made by the functions in `storage/kernels`, run or recorded by a stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .stream import Mem


class KernelCall(NamedTuple):
    """A kernel of `ndrt_kernel_id` and all that it is given, each at its place."""

    kernel: int
    arrays: tuple[Mem | None, ...]
    counts: tuple[int, ...]
    numbers: tuple[float, ...]
