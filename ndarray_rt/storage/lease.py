"""Leases on Chunks, taken in sets: who reads, writes or relies on the layout right now (I8).

Holds no data. A signal (Ctrl-C) or an exception raised from another thread can arrive between any
two Python steps, even before the first line of a Python `__exit__`. So leaving a `with` block here
is one native call.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from ..errors import NdrtError, OutOfMemory
from ..native import ffi, lib
from .chunk import Chunk

_NEW = ffi.typeof("ndrt_new_lockset *")
_take, _give_back = lib.ndrt_lockset_take, lib.ndrt_lockset_give_back
_meets = lib.ndrt_lockset_meets
_exit = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *(ctypes.py_object,) * 4)(
    int(ffi.cast("intptr_t", ffi.addressof(lib, "ndrt_lockset_exit"))))


class LockSet:
    """Leases on several chunks for the time of a `with` block, released exactly once.

    If the block never ends properly, they are released when the object is destroyed.
    """

    __slots__ = ("_given_back", "_set")

    def __init__(self, kind: int, chunks: list[Any], exclusive: bytes) -> None:
        out = ffi.new(_NEW)
        if lib.ndrt_lockset_new(kind, len(chunks), chunks, exclusive, out):
            raise OutOfMemory(f"no memory for a lock set of {len(chunks)} chunks")
        self._set: Any = ffi.gc(out.set, lib.ndrt_lockset_free)
        # keeps the native lock set alive while the block runs
        self._given_back: Callable[..., int] = partial(_exit, out.address, self._set)

    def give_back(self) -> None:
        """Releases the leases; does nothing if they are not held."""
        _give_back(self._set)

    def __enter__(self) -> bool:
        """Whether the leases were acquired. An interrupt here leaves none of them held."""
        try:
            return bool(_take(self._set))
        except BaseException:
            _give_back(self._set)
            raise

    # bound methods of C objects: called without a Python frame
    __exit__: Any = property(attrgetter("_given_back"))


class LeaseError(NdrtError):
    """Code that runs inside an operator call accesses an array on which that call has a lease."""


class _Mine(threading.local):
    """Lock sets that this thread took, innermost last; some may be released already."""

    def __init__(self) -> None:
        self.taken: list[Any] = []  # native lock sets


_mine = _Mine()


class Leases(LockSet):
    """Shared leases on chunks that are read, exclusive ones on those written; acquired together.

    Can be used in a `with` repeatedly. A chunk that is both read and written counts as written.
    Waiting releases the GIL. Never waits for the same thread: LeaseError if it holds a lease
    already and one of the two writes.
    """

    __slots__ = ()

    def __init__(self, read: Iterable[Chunk], written: Iterable[Chunk]) -> None:
        chunks = [chunk.native for chunk in read]
        exclusive = bytes(len(chunks))
        chunks += [chunk.native for chunk in written]
        LockSet.__init__(self, lib.NDRT_LOCKSET_LEASES, chunks,
                      exclusive.ljust(len(chunks), b"\1"))

    def __enter__(self) -> bool:
        own, taken = self._set, _mine.taken
        if taken:
            # the usual case: the innermost one was released, take its place
            if len(taken) == 1 and not _meets(taken[0], own):
                taken.clear()
            else:
                _refuse_own(taken, own)
        try:
            got = bool(_take(own))
            taken.append(own)
        except BaseException:
            _give_back(own)
            raise
        return got


    @property
    def native(self) -> Any:
        """The native lock set; valid as long as this lives."""
        return self._set

    def adopt(self) -> None:
        """Notes that native code acquired them for this thread, for calls inside the block."""
        _mine.taken.append(self._set)


def _refuse_own(taken: list[Any], wanted: Any) -> None:
    """LeaseError instead of a deadlock when this thread itself holds what is wanted."""
    meetings = [_meets(other, wanted) for other in taken]
    if 0 in meetings:
        taken[:] = [other for other, met in zip(taken, meetings, strict=True) if met]
    if 2 in meetings:
        raise LeaseError(
            "code called by an operator uses an array that this very call is writing to, or writes "
            "to one that it is reading: work on the arrays it is given, or on copies made before "
            "the call")


class Exclusive(LockSet):
    """One exclusive lease in place of the caller's `held` shared leases (0 or 1); never waits.

    `with Exclusive(chunk, held=1) as got:`; `got` is False if anybody else has a lease.
    """

    __slots__ = ()

    def __init__(self, chunk: Chunk, held: int) -> None:
        LockSet.__init__(self, lib.NDRT_LOCKSET_UPGRADE, [chunk.native], b"\0" if held else b"\1")


class Packed(LockSet):
    """Marks chunks whose layout a living plan relies on; held from construction."""

    __slots__ = ()

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        natives = [chunk.native for chunk in chunks]
        LockSet.__init__(self, lib.NDRT_LOCKSET_PACKED, natives, bytes(len(natives)))
        self.__enter__()
