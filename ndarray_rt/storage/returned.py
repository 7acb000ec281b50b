"""Releases the memory of exports that ended. Knows no array.

Exports end in C, in any thread and without the GIL (native/interop/dlpack.c), where no Python
object can be released. They are queued, and the next allocation or garbage collection drains the
queue.
"""

from __future__ import annotations

import atexit
import ctypes
import gc

from ..native import lib, with_gil

_drain = with_gil("ndrt_exports_drain", None)
# a C function, as an exception that interrupts a Python callback of the garbage collector is lost
_at_collection = with_gil("ndrt_exports_at_collection", None, ctypes.py_object, ctypes.py_object)


def drain() -> None:
    """Releases what ended exports held."""
    if lib.ndrt_exports_returned():
        _drain()


gc.callbacks.append(_at_collection)
# at exit modules are taken apart, and collections run in between
atexit.register(gc.callbacks.remove, _at_collection)
