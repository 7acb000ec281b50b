"""Handle: the one owner of bytes. Holds no shape, dtype or layout."""

from __future__ import annotations

from typing import Any, TypedDict

from ..native import ffi, lib, make
from .account import SessionBytes, read_sessions, reset_session_peaks
from .returned import drain


class Handle:
    """Owner of one aligned buffer, or of a span of a parent Handle (an arena).

    The buffer is aligned to 64 bytes, from 4 KiB on to a page, from 2 MiB on to a huge page. It
    goes back to the pool when the last reference goes. It is charged to `account`, a native one,
    else to the thread's current account.

    `soon`: the buffer is filled at once while somebody waits, so it gets huge pages only if that is
    quick; `take_huge_pages` can add them later.
    """

    __slots__ = ("__weakref__", "_owner", "address", "may_have_small_pages", "nbytes", "ptr")

    def __init__(self, nbytes: int, zero: bool = False, account: Any = ffi.NULL,
                 soon: bool = False) -> None:
        drain()
        flags = zero * lib.NDRT_ZERO + soon * lib.NDRT_SOON
        owner = make(lib.ndrt_buffer_new_for, account, nbytes, flags, out="ndrt_buffer **",
                     free=lib.ndrt_buffer_free, what=f"allocating {nbytes} bytes", nbytes=nbytes)
        self._owner: Any = owner
        self.may_have_small_pages = soon
        self.ptr: Any = owner.data
        self.address: int = int(ffi.cast("intptr_t", self.ptr))
        self.nbytes: int = nbytes

    @classmethod
    def span(cls, parent: Handle, offset: int, nbytes: int) -> Handle:
        """`nbytes` of `parent` from `offset` on; keeps the parent alive."""
        if offset < 0 or nbytes < 0 or offset + nbytes > parent.nbytes:
            raise ValueError(f"span of {nbytes} bytes at {offset} leaves its parent of "
                             f"{parent.nbytes}")
        made = cls.__new__(cls)
        made._owner = parent
        made.may_have_small_pages = False
        made.ptr = ffi.cast("void *", parent.address + offset)
        made.address = parent.address + offset
        made.nbytes = nbytes
        return made

    @classmethod
    def borrowed(cls, address: int, nbytes: int, owner: object) -> Handle:
        """Memory of another owner; `owner` is kept alive as long as this Handle."""
        made = cls.__new__(cls)
        made._owner = owner
        made.may_have_small_pages = False
        made.ptr = ffi.cast("void *", address)
        made.address = address
        made.nbytes = nbytes
        return made

    @property
    def is_own(self) -> bool:
        """Has a buffer of its own, neither a span nor borrowed."""
        return not isinstance(self._owner, Handle) and isinstance(self._owner, ffi.CData)

    def take_huge_pages(self) -> None:
        """Moves the contents to huge pages, for bytes that will be read often from now on: they
        keep their address, and others may use them meanwhile."""
        if self.may_have_small_pages:
            self.may_have_small_pages = False
            lib.ndrt_buffer_take_huge_pages(self._owner)

    def buffer(self) -> Any:
        """The bytes as a writable buffer; the caller keeps this Handle alive."""
        return ffi.buffer(self.ptr, self.nbytes)


class MemoryStats(TypedDict):
    """What `memory_stats` gives."""

    live: int
    peak: int
    cached: int
    allocations: int
    sessions: dict[str, SessionBytes]


def memory_stats() -> MemoryStats:
    """The bytes of all arrays and scratch, in the whole process.

    `live` is in use, `peak` the most since the start or `reset_peak`, `cached` freed and kept for
    reuse; `allocations` counts the buffers handed out. `sessions` gives live and peak of each
    executor, of each thread's imperative scratch, and of everything else as 'arrays'; what ended
    sessions left behind is only in `live`. Sizes are those of whole buffers: up to an eighth more
    than was requested, up to a quarter if a free one was reused. Borrowed memory is not counted.
    """
    drain()
    out = ffi.new("ndrt_memory_stats *")
    lib.ndrt_memory_stats_read(out)
    return {"live": out.live, "peak": out.peak, "cached": out.cached,
            "allocations": out.allocations, "sessions": read_sessions()}


def trim() -> None:
    """Returns cached buffers, and free memory of the C library, to the system."""
    drain()
    lib.ndrt_memory_trim()


def reset_peak() -> None:
    """Resets `peak` to what is live now, for the process and for each session."""
    lib.ndrt_memory_reset_peak()
    reset_session_peaks()
