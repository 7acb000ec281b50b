"""A foreign library in small: DLPack tensors with any fields, and a count of deleter calls."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi))

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_names: list[bytes] = []  # capsules do not copy their names


class Producer:
    """`data`, or a `view` of it, as a capsule whose fields are as they are asked for."""

    def __init__(self, data: Any, view: Any = None, versioned: bool = False, flags: int = 0,
                 major: int = 1, null: bool = False, deleter: bool = True,
                 device: tuple[int, int] = (1, 0), strides: Sequence[int] | None = (),
                 shape: tuple[int, ...] | None = None, ndim: int | None = None,
                 byte_offset: int = 0, code: int | None = None, bits: int | None = None,
                 lanes: int = 1) -> None:
        self.data = np.array(data)
        self.view = self.data if view is None else view
        self.deleted = 0
        self.versioned = versioned
        self._delete = DELETER(self._count)
        dims = self.view.shape if shape is None else shape
        item = self.view.dtype.itemsize
        if shape is None and strides == ():
            strides = [s // item for s in self.view.strides]
        self._shape = (ctypes.c_int64 * max(len(dims), 13))(*dims)
        self._strides = (ctypes.c_int64 * 13)(*(strides or ()))
        managed: Any = Versioned() if versioned else Managed()
        if versioned:
            managed.major, managed.flags = major, flags
        managed.deleter = ctypes.cast(self._delete, ctypes.c_void_p) if deleter else None
        tensor = managed.tensor
        tensor.data = None if null else self.view.ctypes.data
        tensor.device = (ctypes.c_int32 * 2)(*device)
        tensor.ndim = len(dims) if ndim is None else ndim
        tensor.code = CODES[self.view.dtype.kind] if code is None else code
        tensor.bits = item * 8 if bits is None else bits
        tensor.lanes = lanes
        tensor.shape = self._shape
        if strides:
            tensor.strides = self._strides
        tensor.byte_offset = byte_offset
        self._managed = managed

    def _count(self, managed: int) -> None:
        self.deleted += 1

    def capsule(self, name: bytes = b"") -> Any:
        """A new capsule; without a destructor of its own, as no test leaves one unused."""
        _names.append(name or (b"dltensor_versioned" if self.versioned else b"dltensor"))
        return new_capsule(ctypes.addressof(self._managed), _names[-1], None)

    def __dlpack__(self, max_version: Any = None, copy: Any = None) -> Any:
        return self.capsule()


def refusing_deleter(capsules: list[Any]) -> None:
    """Takes versioned capsules and calls their deleters while this thread keeps the GIL.

    The threads are native ones: made by ctypes, joined through a function that keeps the GIL.
    """
    keep_gil = ctypes.PyDLL(None)
    create, join = keep_gil.pthread_create, keep_gil.pthread_join
    create.argtypes = [ctypes.c_void_p] * 4
    join.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    threads = []
    for capsule in capsules:
        managed = get_pointer(capsule, b"dltensor_versioned")
        _names.append(b"used_dltensor_versioned")
        set_name(capsule, _names[-1])
        deleter = Versioned.from_address(managed).deleter
        thread = ctypes.c_ulong()
        assert create(ctypes.addressof(thread), None, deleter, managed) == 0
        threads.append(thread)
    for thread in threads:
        assert join(thread.value, None) == 0
