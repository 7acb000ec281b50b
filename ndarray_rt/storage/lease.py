"""Leases: who reads and who writes a Chunk right now (I8). Holds no data."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

from ..native import call, ffi, lib
from .chunk import Chunk


class Leases:
    """Shared leases on chunks read, exclusive ones on chunks written; taken all at once.

    Usable in a `with`. The same chunk may stand on both sides and then counts as written.
    Waiting releases the GIL.
    """

    __slots__ = ("_chunks", "_keep", "_modes", "_n")

    def __init__(self, read: Iterable[Chunk], written: Iterable[Chunk]) -> None:
        reads, writes = list(read), list(written)
        self._keep = reads + writes
        self._n = len(self._keep)
        self._chunks: Any = ffi.new("ndrt_chunk *[]", [chunk.native for chunk in self._keep])
        self._modes: Any = ffi.new("uint8_t[]", bytes(len(reads)) + b"\1" * len(writes))

    def __enter__(self) -> Leases:
        if self._n:
            call(lib.ndrt_lease_acquire, self._n, self._chunks, self._modes, what="taking leases")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._n:
            lib.ndrt_lease_release(self._n, self._chunks, self._modes)


def try_exclusive(chunk: Chunk, held: int) -> bool:
    """Makes the caller's `held` shared leases (0 or 1) one exclusive one; never waits.

    False when anybody else has a lease.
    """
    return bool(lib.ndrt_lease_try_exclusive(chunk.native, held))


def back_to_shared(chunk: Chunk, held: int) -> None:
    """Undoes `try_exclusive`."""
    lib.ndrt_lease_back_to_shared(chunk.native, held)
