"""Access to an array's memory in a given layout. Decides nothing about operators.

Everything here runs inside one operator call and under its leases: inputs are leased shared. The
memory returned is valid until that call ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import config
from ..dtypes import FLOAT32, UINT8, find_dtype, is_bare, native_code, need_numbers
from ..errors import NdrtError, ShapeError, TypeMismatch, Unsupported, shown
from ..native import ffi
from ..storage.desc import (
    MemDesc,
    channels_last_desc,
    default_desc,
    plain_tag,
    tagged_desc,
)
from ..storage.lease import Exclusive
from ..storage.reorder import reorder_mem
from ..storage.stream import Mem, Stream
from .bare import cast, numbers_of
from .ndarray import NDArray

AnyArray = np.ndarray[Any, np.dtype[Any]]


def _plain(x: NDArray, desc: MemDesc, stream: Stream) -> Mem:
    """The Chunk's own default-layout bytes; the Chunk is not special."""
    handle = x._chunk.handle
    ptr = handle.ptr
    if x._byte_offset:
        ptr = ffi.cast("void *", handle.address + x._byte_offset)
    return Mem(desc, ptr, handle, stream.epoch)


def get_data(x: NDArray, stream: Stream) -> Mem:
    """The array's memory in its present layout; views and arrays of another rank in the default
    one.

    The array does not change, except that a special Chunk behind a view that nobody else holds is
    converted to the default layout (I3).
    """
    desc = x._chunk.mkl_mem
    if desc is None:
        return _plain(x, default_desc(x.dtype, x.shape), stream)
    if desc.dims == x.shape and not x.is_view and desc.dtype_code == native_code(x.dtype):
        handle = x._chunk.handle
        return Mem(desc, handle.ptr, handle, stream.epoch)
    return get_default(x, stream)


def get_default(x: NDArray, stream: Stream) -> Mem:
    """The contents in the default layout: the array's own memory, or a private copy."""
    chunk = x._chunk
    special = chunk.mkl_mem
    desc = default_desc(x.dtype, x.shape)
    if special is None:
        return _plain(x, desc, stream)
    if x.is_view and not chunk.native.packers and not chunk.native.pins:
        with Exclusive(chunk, held=1) as got:
            converted = got and not chunk.native.pins
            if converted:
                chunk.reorder_to_default(stream)
        if converted:
            return _plain(x, desc, stream)
    whole = stream.scratch(default_desc(find_dtype(special.dtype_name), special.dims))
    handle = chunk.handle
    reorder_mem(stream, Mem(special, handle.ptr, handle, stream.epoch), whole)
    ptr = whole.ptr
    if x._byte_offset:
        ptr = ffi.cast("char *", ptr) + x._byte_offset
    if x._byte_offset + desc.nbytes > whole.desc.nbytes:
        raise ShapeError(f"an array of shape {x.shape} reads {desc.nbytes} bytes at "
                         f"{x._byte_offset} of contents that have {whole.desc.nbytes}")
    return Mem(desc, ptr, whole.keep, stream.epoch)


def get_bytes(x: NDArray, stream: Stream) -> Mem:
    """Like `get_default`, also for dtypes without layouts, which are given as a row of bytes."""
    if native_code(x.dtype) is not None:
        return get_default(x, stream)
    if x._chunk.mkl_mem is not None:
        raise Unsupported(f"memory in a special layout, seen as {x.dtype}")
    return _plain(x, default_desc(UINT8, (x.nbytes,)), stream)


def get_data_if(x: NDArray, desc: MemDesc, stream: Stream) -> Mem | None:
    """The array's memory as `desc`, or None if bytes would have to move.

    Default layouts of different dims are the same bytes, such as a 4-D weight and a 5-D grouped
    one.
    """
    special = x._chunk.mkl_mem
    if special is not None:
        if x.is_view or special.same_as != desc.same_as:
            return None
        handle = x._chunk.handle
        return Mem(desc, handle.ptr, handle, stream.epoch)
    if desc.is_default and desc.nelems == x.size and desc.dtype_code == native_code(x.dtype):
        return _plain(x, desc, stream)
    plain = default_desc(x.dtype, x.shape)
    if plain.same_as == desc.same_as:
        return _plain(x, desc, stream)
    return None


def get_data_reorder(x: NDArray, desc: MemDesc, stream: Stream) -> Mem:
    """The array's contents as `desc`: its own memory if that fits, else a copy in scratch."""
    found = get_data_if(x, desc, stream)
    if found is not None:
        return found
    special = x._chunk.mkl_mem
    if special is not None and not x.is_view and special.dims == desc.dims:
        handle = x._chunk.handle
        source = Mem(special, handle.ptr, handle, stream.epoch)
    else:
        source = get_default(x, stream)
        if desc.nelems != x.size:
            raise ShapeError(f"an array of shape {x.shape} was asked for with dims {desc.dims}")
        source = source.as_desc(default_desc(x.dtype, desc.dims))
    if source.desc.same_as == desc.same_as:
        return source.as_desc(desc)
    target = stream.scratch(desc)
    reorder_mem(stream, source, target)
    return target


def grouped_dims(shape: tuple[int, ...], groups: int) -> tuple[int, ...]:
    """Dims of a weight for oneDNN: with a leading group dimension if there are several groups."""
    return shape if groups == 1 else (groups, shape[0] // groups, *shape[1:])


def get_weights(w: NDArray, desc: MemDesc, groups: int, stream: Stream) -> Mem:
    """A weight in exactly `desc` (rank 5-D over 4-D when grouped), own memory or scratch."""
    if desc.dims != grouped_dims(w.shape, groups):
        raise ShapeError(f"a weight of shape {w.shape} in {groups} group(s) was asked for with "
                         f"dims {desc.dims}")
    return get_data_reorder(w, desc, stream)


def named_desc(x: NDArray, layout: str | None, what: str) -> MemDesc:
    """The layout of that name for an array like x, None: channels-last; `what` names the caller.

    NdrtError if the array can only have the default layout, TypeMismatch for an unknown name.
    """
    if x.dtype != FLOAT32 or x.ndim < 3:
        raise NdrtError(f"{what}: an array of {x.dtype} and rank {x.ndim} has no other layout; "
                        "float32 of rank 3 and more has")
    if layout is None:
        return channels_last_desc(x.dtype, x.shape)
    if not isinstance(layout, str):
        raise TypeMismatch(f"{what}: layout got {shown(layout)}, expected a name such as 'nhwc'")
    return tagged_desc(x.dtype, x.shape, plain_tag(layout, x.ndim))


def trains_in_layout(x: NDArray) -> bool:
    """Training may leave a weight, its gradient or an optimizer's state in a special layout."""
    own = x._chunk.is_trained_in_layout
    return config.NDRT_TRAINING_LAYOUTS if own is None else own


def pack_weights(w: NDArray, desc: MemDesc, stream: Stream) -> bool:
    """Converts a weight in place to `desc` if nobody else holds it; returns whether it now has it.

    For inference only. Refuses views, exported memory, memory that another plan has packed, and
    memory that others read.
    """
    chunk = w._chunk
    if chunk.mkl_mem is not None and chunk.mkl_mem.same_as == desc.same_as:
        return True
    if (w.is_view or chunk.native.pins or chunk.native.packers
            or (chunk.mkl_mem is not None and chunk.mkl_mem.dims != desc.dims)):
        return False
    with Exclusive(chunk, held=1) as got:
        # an export may have begun before this exclusive lease was taken
        packed = got and not chunk.native.pins
        if packed:
            chunk.reorder(desc, stream, soon=True)
    return packed


def create_data(x: NDArray, desc: MemDesc, stream: Stream) -> Mem | None:
    """The array's own memory for writing `desc`; its contents become garbage.

    None if a view or an export would need a special layout: the caller then writes to scratch and
    copies back. The caller holds the exclusive lease.
    """
    if desc.nelems != x.size or desc.dtype_code != native_code(x.dtype):
        raise ShapeError(f"an array of shape {x.shape} and dtype {x.dtype} can not be written as "
                         f"{desc!r}")
    chunk = x._chunk
    if x.is_view:
        if not desc.is_default:
            return None
        chunk.reorder_to_default(stream)
        stream.open(chunk)
        return _plain(x, desc, stream)
    if desc.is_default:
        stream.open(chunk)
        chunk.invalidate_data()
        chunk.check_and_alloc(desc.nbytes)
        return _plain(x, desc, stream)
    if chunk.native.pins or x._byte_offset:
        return None
    stream.open(chunk)
    chunk.set_layout(desc)
    handle = chunk.handle
    return Mem(desc, handle.ptr, handle, stream.epoch)


def write_mem(x: NDArray, mem: Mem, stream: Stream, add: bool = False) -> None:
    """Copies (or adds) `mem` into the array, and keeps the array's layout."""
    chunk = x._chunk
    if chunk.mkl_mem is not None and (x.is_view or chunk.mkl_mem.dims != mem.desc.dims):
        chunk.reorder_to_default(stream)
    target_desc = chunk.mkl_mem
    if target_desc is None:
        dims = mem.desc.dims
        target = _plain(x, default_desc(x.dtype, dims), stream)
    else:
        target = Mem(target_desc, chunk.handle.ptr, chunk.handle, stream.epoch)
    reorder_mem(stream, mem, target, add)


def overwrite(x: NDArray, value: Any, stream: Stream) -> None:
    """x = value, broadcast and cast, in the default layout; an error leaves x as it was."""
    chunk = x._chunk
    if x.is_view:
        chunk.reorder_to_default(stream)
    before = chunk.placement
    written = False
    try:
        chunk.invalidate_data()
        chunk.check_and_alloc(x._byte_offset + x.nbytes)
        target = elements(x)
        with np.errstate(all="ignore"):
            if is_bare(x.dtype):
                value = cast(value, x.dtype)
            chunk.wrote()
            # an assignment, not a call, so that no interrupt is served between the two lines
            target[...] = value
            written = True
    finally:
        if not written:
            chunk.restore(before)


def default_numpy(x: NDArray, stream: Stream) -> AnyArray:
    """The contents in the default layout as a NumPy array; valid until the operator call ends.

    Writing to it changes the array only if the Chunk has the default layout. Raises MissingPackage
    for bfloat16 without ml_dtypes.
    """
    need_numbers(x.dtype)
    return default_elements(x, stream)


def numbers(x: NDArray, stream: Stream) -> AnyArray:
    """`default_numpy` for reading only: bfloat16 without ml_dtypes is copied to float32."""
    return numbers_of(default_elements(x, stream))


def default_elements(x: NDArray, stream: Stream) -> AnyArray:
    """`default_numpy` for code that only moves elements: accepts every dtype."""
    if x._chunk.mkl_mem is None:
        return elements(x)
    mem = get_default(x, stream)
    made: AnyArray = np.ndarray(x.shape, x.dtype, buffer=ffi.buffer(mem.ptr, x.nbytes))
    return made


def plain_numpy(x: NDArray) -> AnyArray:
    """The array's own default-layout bytes as a numpy array; the caller keeps x alive.

    Raises MissingPackage for bfloat16 without ml_dtypes.
    """
    need_numbers(x.dtype)
    return elements(x)


def elements(x: NDArray) -> AnyArray:
    """`plain_numpy` for code that only moves elements: accepts every dtype."""
    handle = x._chunk.handle
    made: AnyArray = np.ndarray(x.shape, x.dtype, buffer=handle.buffer(), offset=x._byte_offset)
    return made


def need_float32(*arrays: NDArray) -> str | None:
    """The reason why the native path can not compute these dtypes, or None."""
    for array in arrays:
        if array.dtype.num != 11:
            return f"dtype {array.dtype} is not float32"
    return None
