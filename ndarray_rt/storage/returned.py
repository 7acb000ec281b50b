"""Lets go of the memory of exports that are over. Knows no array.

Exports end in C, in any thread and without Python (native/interop/dlpack.c), where no Python object
can be let go. They queue, and the next allocation or garbage collection comes here.
"""

from __future__ import annotations

import atexit
import ctypes
import gc

from ..native import lib, with_gil

_drain = with_gil("ndrt_exports_drain", None)
# no function of Python's: what interrupts one while garbage is collected is lost
_at_collection = with_gil("ndrt_exports_at_collection", None, ctypes.py_object, ctypes.py_object)


def drain() -> None:
    """Lets go of what exports held that were given back."""
    if lib.ndrt_exports_returned():
        _drain()


gc.callbacks.append(_at_collection)
# modules are taken apart later, with collections between
atexit.register(gc.callbacks.remove, _at_collection)
