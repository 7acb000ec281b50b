"""Exchange of arrays with other libraries by DLPack, without a copy if possible.

Both directions pin: exported and imported bytes keep their address and layout as long as somebody
else can see them (I5).
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

import numpy as np

from ..context import Context
from ..dtypes import DType, find_dtype
from ..errors import NdrtError, TypeMismatch, shown
from ..native import ffi, lib, with_gil
from ..storage.chunk import Chunk
from ..storage.handle import Handle
from .access import Access
from .copy import write_numpy
from .create import array
from .interop import ShareError, with_default_bytes
from .layout import AnyArray
from .ndarray import NDArray, check_shape, new_array

# dtype -> DLPack's type code and bits
_CODES = {"int8": (0, 8), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8), "float16": (2, 16),
          "float32": (2, 32), "float64": (2, 64), "bfloat16": (4, 16), "bool": (6, 8)}
_NAMES = {code: name for name, code in _CODES.items()}
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "opaque", 4: "bfloat", 5: "complex", 6: "bool"}
_VERSION = (lib.NDRT_DL_MAJOR, lib.NDRT_DL_MINOR)

_export = with_gil("ndrt_export_capsule", ctypes.py_object, ctypes.c_void_p, ctypes.py_object)
_take = with_gil("ndrt_import_capsule", ctypes.py_object, ctypes.py_object, ctypes.c_void_p)


# ---- export ---------------------------------------------------------------------------------


def dlpack_device(x: NDArray) -> tuple[int, int]:
    """The array API's `__dlpack_device__`: always the CPU, as all contexts share its memory."""
    return lib.NDRT_DL_CPU, 0


def dlpack(x: NDArray, *, stream: Any = None, max_version: tuple[int, int] | None = None,
           dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
    """The array API's `__dlpack__`: a capsule, for the `from_dlpack` of another library.

    From `max_version` (1, 0) on the capsule has version and flags. `copy=True` exports a copy,
    `copy=False` the array's own bytes or nothing. By default they are copied only if an executor
    holds them packed, and a capsule with flags is then read-only. Raises ShareError (a BufferError)
    for another device than the CPU, for a stream, and if `copy=False` can not be met.
    """
    if stream is not None:
        raise ShareError(f"__dlpack__: stream got {stream!r}, but a CPU has none")
    for name, pair in (("max_version", max_version), ("dl_device", dl_device)):
        if pair is not None and not (isinstance(pair, (tuple, list)) and len(pair) == 2
                                     and all(isinstance(n, int) for n in pair)):
            raise TypeMismatch(f"__dlpack__: {name} got {pair!r}, expected a tuple of two ints")
    if dl_device is not None and tuple(dl_device) != dlpack_device(x):
        raise ShareError(f"__dlpack__: dl_device got {tuple(dl_device)}, expected "
                         f"{dlpack_device(x)}: arrays live on the CPU")
    versioned = max_version is not None and max_version[0] >= 1
    _check_copy(copy, "__dlpack__")
    flags = lib.NDRT_DL_IS_COPIED
    if not copy:
        try:
            return _capsule(x, versioned, 0)
        except ShareError:
            if copy is not None:
                raise
        # no copy was asked for: writes to this one would be lost silently
        flags |= lib.NDRT_DL_READ_ONLY
    return _capsule(array(x), versioned, flags)


def to_dlpack_for_read(data: NDArray) -> Any:
    """A capsule over the array's own bytes, for reading. Take it once, with `from_dlpack`.

    Such a capsule can not be marked read-only: if the consumer writes, the array changes.
    """
    return _capsule(data, False, 0)


def to_dlpack_for_write(data: NDArray) -> Any:
    """A capsule over the array's own bytes, for reading and writing. Take it once."""
    return _capsule(data, False, 0)


def _capsule(x: NDArray, versioned: bool, flags: int) -> Any:
    if not isinstance(x, NDArray):
        raise TypeMismatch(f"to_dlpack: expected an NDArray, got {type(x).__name__}")
    return with_default_bytes(x, lambda: _pinned_capsule(x, versioned, flags))


def _pinned_capsule(x: NDArray, versioned: bool, flags: int) -> Any:
    chunk = x._chunk
    handle = chunk.handle
    shape = ffi.new("int64_t[]", list(x.shape))
    spec = ffi.new("ndrt_export_spec *")
    # consumers may write, whatever the flags say
    spec.chunk, spec.writable, spec.versioned, spec.flags = chunk.native, 1, versioned, flags
    tensor = spec.tensor
    tensor.data = ffi.cast("void *", handle.address + x._byte_offset)
    tensor.device = dlpack_device(x)
    tensor.ndim, tensor.shape = x.ndim, shape
    tensor.dtype = (*_CODES[x.dtype.name], 1)
    return _export(int(ffi.cast("intptr_t", spec)), (chunk, handle))


# ---- import ---------------------------------------------------------------------------------


def from_dlpack(x: Any, *, device: Context | str | None = None,
                copy: bool | None = None) -> NDArray:
    """An array on memory of another library: an object with `__dlpack__`, or a capsule.

    The memory is shared and pinned, and released to the other library with the last array on it. If
    it can not be shared (read-only, not dense row-major, or not aligned to its elements) it is
    copied, or refused with `copy=False`; `copy=True` always copies. Raises ShareError (a
    BufferError) for another device than the CPU and for a used capsule, TypeMismatch for dtypes
    that arrays can not have and for anything but a capsule.
    """
    ctx = None if device is None else Context(device).check()
    _check_copy(copy, "from_dlpack")
    capsule = _ask(x, copy) if hasattr(x, "__dlpack__") else x
    found = ffi.new("ndrt_import *")
    try:
        owner = _take(capsule, int(ffi.cast("intptr_t", found)))
    except TypeError as error:
        raise TypeMismatch(str(error)) from None
    except ValueError as error:
        raise ShareError(str(error)) from None
    if not found.tensor:
        raise ShareError(f"from_dlpack: the capsule has version {found.major}.{found.minor}, "
                         f"expected at most {_VERSION[0]}.x")
    return _adopt(found.tensor, found.flags, owner, copy, ctx)


def _check_copy(copy: Any, what: str) -> None:
    if copy is not None and not isinstance(copy, (bool, np.bool_)):
        raise TypeMismatch(f"{what}: copy got {shown(copy)}, expected True, False or None")


def _ask(x: Any, copy: bool | None) -> Any:
    """Asks a producer for its capsule, versioned if it supports that."""
    if hasattr(x, "__dlpack_device__"):
        _check_device(*x.__dlpack_device__())
    wishes: dict[str, Any] = {"max_version": _VERSION}
    if copy is False:
        wishes["copy"] = False
    try:
        return x.__dlpack__(**wishes)
    except TypeError:
        # a producer older than these keywords; any other error will be raised again
        return x.__dlpack__()


def _check_device(kind: Any, number: Any) -> None:
    if int(kind) != lib.NDRT_DL_CPU:
        raise ShareError(f"from_dlpack: the memory is on device ({int(kind)}, {int(number)}), "
                         f"expected the CPU, ({lib.NDRT_DL_CPU}, 0): copy it there first")


def _adopt(tensor: Any, flags: int, owner: Any, copy: bool | None,
           ctx: Context | None) -> NDArray:
    """An array that shares, or copies, a tensor that lives as long as `owner`."""
    _check_device(tensor.device.type, tensor.device.id)
    dtype = _dtype_of(tensor.dtype)
    if tensor.ndim < 0 or (tensor.ndim and not tensor.shape):
        raise NdrtError(f"from_dlpack: the tensor has {tensor.ndim} dimensions and no shape")
    shape = check_shape(list(tensor.shape[0:tensor.ndim]) if tensor.ndim else (), "from_dlpack")
    if not prod(shape):
        return new_array(shape, dtype, ctx)
    if not tensor.data:
        raise NdrtError(f"from_dlpack: a tensor of shape {shape} has no data")
    address = int(ffi.cast("intptr_t", tensor.data)) + tensor.byte_offset
    strides = list(tensor.strides[0:tensor.ndim]) if tensor.strides and tensor.ndim else None
    reason = None
    if strides is not None and not _is_dense(shape, strides):
        reason = f"strides {tuple(strides)} of shape {shape} are not dense row-major"
    elif address % dtype.itemsize:
        reason = f"address {address:#x} is not aligned to {dtype}"
    elif flags & lib.NDRT_DL_READ_ONLY:
        reason = "the memory is read-only, and arrays can be written to"
    if reason is not None and copy is False:
        raise ShareError(f"from_dlpack: a copy is needed: {reason}")
    if copy or reason is not None:
        made = new_array(shape, dtype, ctx)
        with Access(written=(made,)) as stream:
            write_numpy(made, _foreign(address, shape, dtype, strides), stream)
        return made
    chunk = Chunk(shape, dtype, handle=Handle.borrowed(address, prod(shape) * dtype.itemsize,
                                                       owner))
    if not flags & lib.NDRT_DL_IS_COPIED:
        chunk.pin(True)  # never unpinned: the other library sees the memory as long as it lives
    return NDArray(chunk, shape, dtype, ctx=ctx)


def _dtype_of(kind: Any) -> DType:
    name = _NAMES.get((kind.code, kind.bits)) if kind.lanes == 1 else None
    if name is None:
        lanes = f"x{kind.lanes}" if kind.lanes != 1 else ""
        raise TypeMismatch(f"from_dlpack: dtype {_KINDS.get(kind.code, 'unknown')}{kind.bits}"
                           f"{lanes} is none of: {', '.join(_CODES)}")
    return find_dtype(name)


def _is_dense(shape: tuple[int, ...], strides: list[int]) -> bool:
    """Dense row-major; strides of dims of size 1 are ignored."""
    expected = 1
    for dim, stride in zip(reversed(shape), reversed(strides), strict=True):
        if dim != 1 and stride != expected:
            return False
        expected *= dim
    return True


def _foreign(address: int, shape: tuple[int, ...], dtype: DType,
             strides: list[int] | None) -> AnyArray:
    """Memory with any strides as a NumPy array, valid only until it is copied."""
    steps = strides if strides is not None else [prod(shape[i + 1:]) for i in range(len(shape))]
    spans = [(dim - 1) * step * dtype.itemsize for dim, step in zip(shape, steps, strict=True)]
    before = -sum(span for span in spans if span < 0)
    after = sum(span for span in spans if span > 0) + dtype.itemsize
    made: AnyArray = np.ndarray(
        shape, dtype, offset=before, strides=[step * dtype.itemsize for step in steps],
        buffer=ffi.buffer(ffi.cast("char *", address - before), before + after))
    return made
