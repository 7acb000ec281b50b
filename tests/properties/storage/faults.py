"""The n-th buffer that is asked for can not be had, through the allocator's own hook.

Counted are buffers and not all native allocations: those of primitives and descriptors depend on
what is cached, and an example must run alike each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ndarray_rt.native import lib
from ndarray_rt.storage.handle import Handle

NO_FAULT = -1


@contextmanager
def failing_buffer(nth: int) -> Iterator[None]:
    """Lets buffer `nth` (from 0) of the block fail with OutOfMemory; none below 0."""
    if nth < 0:
        yield
        return
    make, left = Handle.__init__, [nth]

    def failing(self: Handle, *args: Any, **more: Any) -> None:
        lib.ndrt_memory_fail_after(0 if left[0] == 0 else NO_FAULT)
        left[0] -= 1
        make(self, *args, **more)
    Handle.__init__ = failing  # type: ignore[method-assign]
    try:
        yield
    finally:
        Handle.__init__ = make  # type: ignore[method-assign]
        lib.ndrt_memory_fail_after(NO_FAULT)
