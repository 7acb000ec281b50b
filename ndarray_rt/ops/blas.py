"""uses_blas: what NumPy computes with BLAS and LAPACK, where memory may be short.

OpenBLAS, which NumPy's and scipy's wheels bring, ends the process when it can not have a buffer. It
takes one at the first product of each thread that is inside of it at once, and keeps it. So there
is a look for room before. Registers no operator.
"""

from __future__ import annotations

import functools
import mmap
import os
import threading
from collections.abc import Callable
from types import ModuleType
from typing import ParamSpec, TypeVar

import numpy as np

from ..errors import OutOfMemory
from ..fork import renew_in_child
from ..native import lib

P = ParamSpec("P")
T = TypeVar("T")

MIB = 1 << 20


@functools.cache
def room_of(package: ModuleType) -> int:
    """Bytes of address space that a buffer takes, and what is mapped beside it."""
    libraries = f"{os.path.dirname(package.__file__ or '')}.libs"
    bundled = os.path.isdir(libraries) and any(
        "openblas" in name for name in os.listdir(libraries))
    # as the wheels build it, and as OpenBLAS builds itself
    return (36 if bundled else 132) * MIB


def _has_room(nbytes: int) -> bool:
    try:
        mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return False
    return True


def need_room(nbytes: int) -> None:
    """OutOfMemory unless so many bytes of address space are free."""
    if _has_room(nbytes):
        return
    lib.ndrt_memory_trim()
    if not _has_room(nbytes):
        raise OutOfMemory(f"no memory for BLAS: {nbytes // MIB} MiB of address space must be free")


class Blas(threading.local):
    """How deep this thread is inside of functions that use one BLAS."""

    depth = 0

    def __init__(self, buffers: Buffers) -> None:
        self.buffers = buffers

    def __enter__(self) -> None:
        if not self.depth:
            self.buffers.enter()
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.buffers.leave()


class Buffers:
    """What one BLAS has for the threads inside of it. `take` makes it take its first buffer."""

    def __init__(self, package: ModuleType, take: Callable[[], object]) -> None:
        self._package = package
        self._take = take
        self._inside = 0
        self._has_one = False
        self._lock = threading.Lock()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child, which has no thread that is inside."""
        self._lock = threading.Lock()
        self._inside = 0

    def enter(self) -> None:
        """One thread more; OutOfMemory where it might find no buffer."""
        with self._lock:
            missing = self._inside + 1 - self._has_one
            if missing:
                need_room(missing * room_of(self._package))
            if not self._has_one:
                self._take()
                self._has_one = True
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= self._inside > 0


NUMPY = Blas(Buffers(np, lambda: np.linalg.inv(np.eye(2))))


def uses_blas(function: Callable[P, T]) -> Callable[P, T]:
    """For each function that has NumPy multiply or solve: it raises OutOfMemory before BLAS would
    end the process. Calls inside of each other count once."""
    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        with NUMPY:
            return function(*args, **kwargs)
    return guarded
