"""Exchange of arrays with NumPy and the buffer protocol: copies, and exports without a copy.

An export pins the Chunk: its bytes keep address and layout until the export ends (I5).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..context import Context
from ..dtypes import find_dtype, need_numbers
from ..errors import NdrtError, TypeMismatch, shown
from ..native import ffi, with_gil
from ..storage.chunk import Chunk
from ..storage.handle import Handle
from .access import Access
from .copy import read_numpy
from .create import array
from .layout import AnyArray
from .ndarray import NDArray, check_shape

Made = TypeVar("Made")

_pin_capsule = with_gil("ndrt_pin_capsule", ctypes.py_object, ctypes.c_void_p, ctypes.c_int,
                        ctypes.py_object)


class ShareError(NdrtError, ValueError, BufferError):
    """The bytes can not be exported, or imported, without a copy."""


def asnumpy(x: NDArray) -> AnyArray:
    """The contents as a new numpy array."""
    with Access(read=(x,)) as stream:
        return read_numpy(x, stream)


class _Pin:
    """Owns a native pin, as the destructor of a cdata pointer that keeps it alive."""

    __slots__ = ("capsule",)

    def __init__(self, chunk: Chunk, handle: Handle, writable: bool) -> None:
        self.capsule = _pin_capsule(int(ffi.cast("intptr_t", chunk.native)), writable,
                                    (chunk, handle))

    def __call__(self, pointer: Any) -> None:
        """Does nothing: the pin ends when the pointer releases this object."""


# called with the Chunk before its bytes are exported for writing: code that needs its present
# contents later has to copy them now
BEFORE_EXPORT: list[Callable[[Chunk], None]] = []


def with_default_bytes(x: NDArray, pin: Callable[[], Made], writable: bool = True) -> Made:
    """Calls `pin()` under a lease while x's bytes are in the default layout.

    A Chunk in a special layout is converted in place first. Raises ShareError if it can not be,
    because a plan holds it packed.
    """
    chunk = x._chunk
    if writable:
        for keep in BEFORE_EXPORT:
            keep(chunk)
    if chunk.is_allocated and not chunk.is_special:
        with Access(read=(x,)):
            if not chunk.is_special:
                return pin()
    with Access(written=(x,)) as stream:
        if chunk.is_special and chunk.native.packers:
            raise ShareError(f"an array of shape {x.shape} in the layout {x.layout} is in use by "
                             "an executor and can not be exported without a copy")
        chunk.reorder_to_default(stream)
        chunk.check_and_alloc()
        return pin()


def export(x: NDArray, writable: bool = True) -> AnyArray:
    """A numpy array over x's own bytes; both see each other's writes.

    The Chunk is pinned until the array and all views of it are gone. Raises ShareError as
    `with_default_bytes` does.
    """
    return with_default_bytes(x, lambda: _pinned(x, writable), writable)


def _pinned(x: NDArray, writable: bool) -> AnyArray:
    need_numbers(x.dtype)
    handle = x._chunk.handle
    owner = ffi.gc(ffi.cast("char *", handle.address), _Pin(x._chunk, handle, writable))
    made: AnyArray = np.ndarray(x.shape, x.dtype, buffer=ffi.buffer(owner, handle.nbytes),
                                offset=x._byte_offset)
    if not writable:
        made.flags.writeable = False
    return made


def to_array(x: NDArray, dtype: Any = None, copy: bool | None = None) -> AnyArray:
    """NumPy's `__array__`: a copy, or with `copy=False` the bytes themselves."""
    if copy is False:
        if dtype is not None and np.dtype(dtype) != x.dtype:
            raise ShareError(f"an array of {x.dtype} can not be seen as {np.dtype(dtype)} "
                              "without a copy")
        return export(x)
    made = asnumpy(x)
    return made if dtype is None else made.astype(dtype, copy=False)


def to_buffer(x: NDArray, flags: int) -> memoryview:
    """Python's `__buffer__` (from 3.12 on): the bytes themselves, pinned while the view lives."""
    try:
        made: Any = export(x)
        return memoryview(made)
    except ValueError as error:
        raise ShareError(f"an array of {x.dtype} has no buffer: {error}") from None


# NumPy arrays that from_numpy made read-only, by id
_lent: weakref.WeakValueDictionary[int, AnyArray] = weakref.WeakValueDictionary()


def from_numpy(ndarray: AnyArray, zero_copy: bool = True, ctx: Context | None = None) -> NDArray:
    """An array from a numpy array, of its dtype.

    With `zero_copy` it shares NumPy's memory, which must be C-contiguous and becomes read-only for
    NumPy, as in MXNet; the memory is pinned as long as the array lives. Memory that was read-only
    before, or is not aligned to its elements, is copied nevertheless.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeMismatch(f"from_numpy: expected a numpy array, got {type(ndarray).__name__}")
    if not isinstance(zero_copy, (bool, int)):
        raise TypeMismatch(f"from_numpy: zero_copy got {shown(zero_copy)}, expected a bool")
    dtype = find_dtype(ndarray.dtype)
    if zero_copy and not ndarray.flags.c_contiguous:
        raise ShareError("from_numpy: only C-contiguous arrays can be used without a copy")
    may_write = ndarray.flags.writeable or _lent.get(id(ndarray)) is ndarray
    if not (zero_copy and may_write and ndarray.flags.aligned and ndarray.size):
        return array(ndarray, ctx, dtype)
    shape = check_shape(ndarray.shape, "from_numpy")
    ndarray.flags.writeable = False
    _lent[id(ndarray)] = ndarray
    handle = Handle.borrowed(ndarray.__array_interface__["data"][0], ndarray.nbytes, ndarray)
    chunk = Chunk(shape, dtype, handle=handle)
    # pinned as writable: other NumPy arrays on this memory (a base, earlier views) can still write
    chunk.pin(True)
    return NDArray(chunk, shape, dtype, ctx=ctx)
