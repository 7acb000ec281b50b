"""Account: the bytes that one session holds, counted where memory is taken. Owns no memory."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from threading import get_ident
from typing import Any, TypedDict
from weakref import WeakValueDictionary

from ..native import call, ffi, lib, own

ARRAYS = "arrays"


class SessionBytes(TypedDict):
    """Bytes of one session, as capacities."""

    live: int
    peak: int


_begin = lib.ndrt_account_begin
_exit = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *(ctypes.py_object,) * 4)(
    int(ffi.cast("intptr_t", ffi.addressof(lib, "ndrt_account_exit"))))
_numbers = itertools.count(1)
_open: WeakValueDictionary[int, Account] = WeakValueDictionary()


class Account:
    """Counts what a session holds: an executor, or the imperative calls of a thread.

    Inside a `with` the arrays and the scratch that this thread makes are charged here. An array
    stays charged to the session that made it, whoever writes, grows or frees it. Not for several
    threads at once.
    """

    __slots__ = ("__weakref__", "_block", "_leave", "_thread", "name", "ptr")

    def __init__(self, name: str) -> None:
        out = ffi.new("ndrt_account **")
        call(lib.ndrt_account_new, out, what="making an account")
        self.ptr: Any = own(out[0], lib.ndrt_account_free)
        self.name = name
        self._block: Any = ffi.new("ndrt_account_block *", {"account": self.ptr})
        self._leave: Callable[..., int] = partial(
            _exit, int(ffi.cast("intptr_t", self._block)), self._block)
        self._thread = 0
        _open[next(_numbers)] = self

    def __enter__(self) -> Account:
        self._thread = get_ident()
        try:
            _begin(self._block)
        except BaseException:
            self._leave(None, None, None)
            raise
        return self

    # bound methods of C objects: `with` calls them without a Python frame, so that no interrupt
    # can come before their first line
    __exit__: Any = property(attrgetter("_leave"))

    def __del__(self) -> None:
        block = getattr(self, "_block", None)
        while block is not None and block.depth and self._thread == get_ident():
            self._leave(None, None, None)

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
    """Resets the peak of each session to what is live now."""
    lib.ndrt_account_reset_peak(lib.ndrt_account_arrays())
    for account in _living():
        lib.ndrt_account_reset_peak(account.ptr)


def _living() -> list[Account]:
    # list() is one step for the interpreter, and other threads may open accounts meanwhile
    found = [reference() for reference in _open.valuerefs()]
    return [account for account in found if account is not None]
