"""Says which threads have a stack for signal handlers once they have computed."""

from __future__ import annotations

import ctypes
import sys
import threading
from pathlib import Path

import ndarray_rt as mx

SS_DISABLE = 2
libc = ctypes.CDLL(None, use_errno=True)


class Stack(ctypes.Structure):
    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def stack() -> Stack:
    found = Stack()
    assert libc.sigaltstack(None, ctypes.byref(found)) == 0
    return found


def compute() -> None:
    data = mx.nd.ones((4, 1280))
    mx.nd.FullyConnected(data, mx.nd.ones((10, 1280)), no_bias=True, num_hidden=10).wait_to_read()


def tell(who: str) -> None:
    found = stack()
    print(who, "has none" if found.flags & SS_DISABLE else "has one")


def thread() -> None:
    compute()
    tell("a thread")


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text(encoding="ascii").splitlines())


def main() -> None:
    if "own" in sys.argv:
        room = ctypes.create_string_buffer(1 << 17)
        own = Stack(ctypes.addressof(room), 0, 1 << 17)
        assert libc.sigaltstack(ctypes.byref(own), None) == 0
        compute()
        print("the user's" if stack().sp == ctypes.addressof(room) else "another")
        return
    compute()
    tell("the main thread")
    for _ in range(3):
        one = threading.Thread(target=thread)
        one.start()
        one.join()
    before = mappings()
    for _ in range(50):
        one = threading.Thread(target=compute)
        one.start()
        one.join()
    after = mappings()
    print("ended threads give theirs back" if after < before + 25 else f"{before} -> {after} maps")


main()
