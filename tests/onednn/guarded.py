"""Memory that tells when somebody goes beyond it."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

PAGE = mmap.PAGESIZE
ALIGNED = 64  # as the package's own buffers are
UNUSED = 0xFF  # bytes that nobody has written: NaN, to whoever reads floats
_NORESERVE = 0x4000  # Linux: pages count when they are used
_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                       ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Piece:
    """Bytes that end where a guard begins, but for what alignment needs.

    What stands before them, and what is left between them and the guard, is UNUSED.
    """

    def __init__(self, room: Array, nbytes: int) -> None:
        start = len(room) - -(-nbytes // ALIGNED) * ALIGNED
        self._before = room[max(0, start - PAGE):start]
        self.bytes = room[start:start + nbytes]
        self._behind = room[start + nbytes:]
        for part in (self._before, self.bytes, self._behind):
            part[:] = UNUSED
        self.address: int = room.ctypes.data + start

    def overrun(self) -> str:
        """Where somebody wrote who should not have; "" for nowhere."""
        if (self._behind != UNUSED).any():
            return "behind its end"
        return "before its start" if (self._before != UNUSED).any() else ""


class Guarded:
    """Rooms for one piece of memory each, with guards around them that nobody may touch, or, where
    `may_read` is set, that nobody may write to."""

    def __init__(self, rooms: int = 16, nbytes: int = 16 << 20, may_read: bool = False) -> None:
        gap = nbytes
        total = rooms * (nbytes + gap) + gap
        guard = mmap.PROT_READ if may_read else 0
        start = _libc.mmap(None, total, guard, _FLAGS, -1, 0)
        if start in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "no addresses for guarded memory")
        self.nbytes = nbytes
        self._rooms: list[Array] = []
        for number in range(rooms):
            at = start + gap + number * (nbytes + gap)
            if _libc.mprotect(at, nbytes, mmap.PROT_READ | mmap.PROT_WRITE):
                raise OSError(ctypes.get_errno(), "guarded memory can not be opened")
            raw = (ctypes.c_uint8 * nbytes).from_address(at)
            self._rooms.append(np.ctypeslib.as_array(raw))

    def piece(self, number: int, nbytes: int) -> Piece:
        """`nbytes` in a room, in place of what was there."""
        if number >= len(self._rooms) or nbytes + PAGE > self.nbytes:
            raise ValueError(f"no room {number} for {nbytes} bytes")
        return Piece(self._rooms[number], nbytes)
