"""`mx.engine`: how many operators MXNet's engine hands on at once. Here each runs when called.

The number is kept, as scripts set it back, and changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import TypeMismatch, shown
from .public import shows

__all__ = ["bulk", "set_bulk_size"]
__dir__ = shows(globals())


class _Bulk(threading.local):
    """The number of one thread."""

    size = 15  # MXNet's default


_current = _Bulk()


def set_bulk_size(size: int) -> int:
    """Notes a size for this thread and gives the one before; 0 and 1 mean one by one."""
    if not hasattr(size, "__index__"):
        raise TypeMismatch(f"set_bulk_size: size got {shown(size)}, expected an int")
    before, _current.size = _current.size, size.__index__()
    return before


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """`set_bulk_size` for a `with` block."""
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)
