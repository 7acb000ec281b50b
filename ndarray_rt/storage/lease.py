"""Leases: who reads and who writes a Chunk right now (I8). Holds no data."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from ..errors import NdrtError
from ..native import check, ffi, lib
from .chunk import Chunk


class LeaseError(NdrtError):
    """Code that runs inside an operator call touches an array that this call has leased."""


class _Mine(threading.local):
    """What this thread holds, the innermost last."""

    def __init__(self) -> None:
        self.entered: list[Leases] = []


_mine = _Mine()
release = lib.ndrt_lease_release


class Leases:
    """Shared leases on chunks read, exclusive ones on chunks written; taken all at once.

    Usable in a `with`. The same chunk may stand on both sides and then counts as written.
    Waiting releases the GIL. What the same thread holds already is not waited for: LeaseError, if
    one of the two writes.

    An interrupt may come between a `with` block and `__exit__`. Where that must not keep leases:

        try:
            leases.take()
            ...
        finally:
            if leases.held:
                leases.held = None
                release(leases.n, leases.natives, leases.modes)
            forget(leases)
    """

    __slots__ = ("_keep", "_num_read", "held", "modes", "n", "natives")

    def __init__(self, read: Iterable[Chunk], written: Iterable[Chunk]) -> None:
        reads, writes = list(read), list(written)
        self._keep = reads + writes
        self._num_read = len(reads)
        self.n = len(self._keep)
        self.natives: Any = ffi.new("ndrt_chunk *[]", [chunk.native for chunk in self._keep])
        self.modes: Any = ffi.new("uint8_t[]", bytes(len(reads)) + b"\1" * len(writes))
        self.held: list[int] | None = None  # [0] from when they are got to when they are given back

    def take(self) -> None:
        """Takes the leases; on any exception none is held."""
        if not self.n:
            return
        entered = _mine.entered
        if entered:
            self._refuse_own(entered)
        status: list[int] = []
        self.held = status
        try:
            # an interrupt is served when `extend` is done, and the status is noted by then
            status.extend(map(lib.ndrt_lease_acquire, (self.n,), (self.natives,), (self.modes,)))
            if status[0]:
                check(status[0], "taking leases")
            entered.append(self)
        except BaseException:
            self.give_back()
            raise

    def _refuse_own(self, entered: list[Leases]) -> None:
        """LeaseError instead of waiting for ever for what this thread itself holds."""
        entered[:] = [other for other in entered if other.held]
        mine, mine_written = set(self._keep), set(self._keep[self._num_read:])
        for other in entered:
            if (not mine.isdisjoint(other._keep[other._num_read:])
                    or not mine_written.isdisjoint(other._keep)):
                raise LeaseError(
                    "code called by an operator uses an array that this very call is writing to, "
                    "or writes to one that it is reading: work on the arrays it is given, or on "
                    "copies made before the call")

    def give_back(self) -> None:
        """Gives the leases back, if they are held."""
        held, self.held = self.held, None
        if held == [0]:
            # no call before this one: an interrupt comes behind it
            release(self.n, self.natives, self.modes)
        forget(self)

    def __enter__(self) -> Leases:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.give_back()


def forget(leases: Leases) -> None:
    """These are given back."""
    entered = _mine.entered
    if entered and entered[-1] is leases:
        entered.pop()
    elif leases in entered:
        entered.remove(leases)


def try_exclusive(chunk: Chunk, held: int) -> bool:
    """Makes the caller's `held` shared leases (0 or 1) one exclusive one; never waits.

    False when anybody else has a lease.
    """
    return bool(lib.ndrt_lease_try_exclusive(chunk.native, held))


def back_to_shared(chunk: Chunk, held: int) -> None:
    """Undoes `try_exclusive`."""
    lib.ndrt_lease_back_to_shared(chunk.native, held)
