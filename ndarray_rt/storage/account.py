"""Account: the bytes that one session holds, counted where memory is taken. Owns no memory."""

from __future__ import annotations

import itertools
from threading import get_ident
from types import TracebackType
from typing import Any, TypedDict
from weakref import WeakValueDictionary

from ..native import call, ffi, lib, own

ARRAYS = "arrays"


class SessionBytes(TypedDict):
    """Bytes of one session, as capacities."""

    live: int
    peak: int


_numbers = itertools.count(1)
_open: WeakValueDictionary[int, Account] = WeakValueDictionary()


class Account:
    """Counts what a session holds: an executor, or the imperative calls of a thread.

    Inside a `with` the arrays and the scratch that this thread makes are charged here. An array
    stays charged to the session that made it, whoever writes, grows or frees it. Not for several
    threads at once.
    """

    __slots__ = ("__weakref__", "_outer", "_thread", "name", "ptr")

    def __init__(self, name: str) -> None:
        out = ffi.new("ndrt_account **")
        call(lib.ndrt_account_new, out, what="making an account")
        self.ptr: Any = own(out[0], lib.ndrt_account_free)
        self.name = name
        self._outer: list[Any] = []
        self._thread = 0
        _open[next(_numbers)] = self

    def __enter__(self) -> Account:
        self._end_interrupted()
        self._thread = get_ident()
        # noted in the same step: an interrupt is served behind it
        self._outer.extend(map(lib.ndrt_account_enter, (self.ptr,)))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        lib.ndrt_account_leave(self._outer.pop())

    def _end_interrupted(self) -> None:
        # an interrupt came between an earlier block and its end: this thread still charges here
        if self._outer and self._thread == get_ident():
            lib.ndrt_account_leave(self._outer.pop())

    def __del__(self) -> None:
        if getattr(self, "_outer", None):
            self._end_interrupted()

    def read(self) -> SessionBytes:
        """What is held now, and the most since the peak began."""
        return {"live": self.ptr.live, "peak": self.ptr.peak}


def read_sessions() -> dict[str, SessionBytes]:
    """Each living session by name; 'arrays' is what no session holds."""
    arrays = lib.ndrt_account_arrays()
    made: dict[str, SessionBytes] = {ARRAYS: {"live": arrays.live, "peak": arrays.peak}}
    for account in _living():
        made[account.name] = account.read()
    return made


def reset_session_peaks() -> None:
    """Lets the peaks of all sessions start again from what is live."""
    lib.ndrt_account_reset_peak(lib.ndrt_account_arrays())
    for account in _living():
        lib.ndrt_account_reset_peak(account.ptr)


def _living() -> list[Account]:
    # one step for the interpreter: other threads open accounts meanwhile
    found = [reference() for reference in _open.valuerefs()]
    return [account for account in found if account is not None]
