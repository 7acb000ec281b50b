"""Handle: the one owner of bytes. Holds no shape, dtype or layout."""

from __future__ import annotations

from typing import Any

from ..native import ffi, lib, make


class Handle:
    """Owner of one aligned buffer, or of a span of a parent Handle (an arena).

    The buffer is aligned to 64 bytes, from 4 KiB on to a page, from 2 MiB on to a huge page. It
    goes back to the pool when the last reference goes.
    """

    __slots__ = ("__weakref__", "_owner", "address", "nbytes", "ptr")

    def __init__(self, nbytes: int, zero: bool = False) -> None:
        owner = make(lib.ndrt_buffer_new, nbytes, int(zero), out="ndrt_buffer **",
                     free=lib.ndrt_buffer_free, what=f"allocating {nbytes} bytes", nbytes=nbytes)
        self._owner: Any = owner
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
        made.ptr = ffi.cast("void *", parent.address + offset)
        made.address = parent.address + offset
        made.nbytes = nbytes
        return made

    @classmethod
    def borrowed(cls, address: int, nbytes: int, owner: object) -> Handle:
        """Somebody else's bytes; `owner` is kept alive as long as this Handle."""
        made = cls.__new__(cls)
        made._owner = owner
        made.ptr = ffi.cast("void *", address)
        made.address = address
        made.nbytes = nbytes
        return made

    @property
    def is_own(self) -> bool:
        """A buffer of its own, and not a span or borrowed."""
        return not isinstance(self._owner, Handle) and isinstance(self._owner, ffi.CData)

    def buffer(self) -> Any:
        """The bytes as a writable buffer; the caller keeps this Handle alive."""
        return ffi.buffer(self.ptr, self.nbytes)


def memory_stats() -> dict[str, int]:
    """Bytes `live` (in use), `peak` (most ever), `cached` (kept for reuse); `allocations` made."""
    out = ffi.new("ndrt_memory_stats *")
    lib.ndrt_memory_stats_read(out)
    return {"live": out.live, "peak": out.peak, "cached": out.cached,
            "allocations": out.allocations}


def trim() -> None:
    """Gives cached buffers back to the system."""
    lib.ndrt_memory_trim()


def reset_peak() -> None:
    """Lets `peak` start again from what is live."""
    lib.ndrt_memory_reset_peak()
