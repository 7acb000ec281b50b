"""TmpMemMgr: scratch memory of one operator call at a time. Holds nothing longer than that."""

from __future__ import annotations

from typing import Any

from ..native import ffi
from .account import Account
from .handle import Handle

ALIGNMENT = 64


def align_up(nbytes: int, alignment: int = ALIGNMENT) -> int:
    return (nbytes + alignment - 1) // alignment * alignment


class TmpMemMgr:
    """Allocates pieces of one buffer; a piece that does not fit gets a buffer of its own.

    `init()` begins a run and sizes the buffer by what the largest operator has needed so far.
    `reset()` ends an operator: its pieces are no longer valid. Not thread-safe. With `keep` no
    buffer is freed before the manager is, as a recorded plan points into them; a buffer that is too
    small gets a larger one beside it. Memory is charged to `account`, else to the account of the
    calling thread.
    """

    __slots__ = ("_account", "_buffer", "_extra", "_keep", "_kept", "_used", "estimate", "limit")

    def __init__(self, estimate: int = 0, keep: bool = False, limit: int | None = None,
                 account: Account | None = None) -> None:
        self.estimate = estimate
        # upper bound of the buffer kept between runs; None: as large as the estimate
        self.limit = limit
        self._account: Any = ffi.NULL if account is None else account.ptr
        self._buffer: Handle | None = self._take(estimate) if estimate and keep else None
        self._used = 0
        self._extra: list[Handle] = []
        self._kept: list[Handle] = []
        self._keep = keep

    def _take(self, nbytes: int) -> Handle:
        return Handle(nbytes, False, self._account)

    def init(self) -> None:
        """Begins a run: makes the buffer as large as the estimate."""
        self.reset()
        if self._keep:
            return
        wanted = self.estimate if self.limit is None else min(self.estimate, self.limit)
        if wanted and (self._buffer is None or self._buffer.nbytes < wanted):
            self._buffer = None  # freed before the next one is taken: the peak is one buffer
            self._buffer = self._take(wanted)

    def alloc(self, nbytes: int) -> tuple[Any, Handle]:
        """(pointer, the Handle that owns it): `nbytes` aligned to 64, valid until `reset`."""
        start = align_up(self._used)
        self._used = start + nbytes
        if self._used > self.estimate:
            self.estimate = self._used
        if self._buffer is not None and self._used <= self._buffer.nbytes:
            return ffi.cast("void *", self._buffer.address + start), self._buffer
        if self._keep:
            # larger than needed now, else each operator that needs a little more would add a buffer
            larger = self._take(align_up(self.estimate + self.estimate // 2))
            if self._buffer is not None:
                self._kept.append(self._buffer)
            self._buffer = larger
            return ffi.cast("void *", larger.address + start), larger
        extra = self._take(nbytes)
        self._extra.append(extra)
        return extra.ptr, extra

    def reset(self) -> None:
        """Ends an operator; keeps the estimate."""
        self._used = 0
        if self._extra:
            self._extra.clear()

    def release(self) -> None:
        """Frees the buffer; keeps the estimate."""
        self.reset()
        if not self._keep:
            self._buffer = None

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        held = 0 if self._buffer is None else self._buffer.nbytes
        return held + sum(h.nbytes for h in self._extra) + sum(h.nbytes for h in self._kept)
