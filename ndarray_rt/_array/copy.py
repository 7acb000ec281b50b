"""Copies between arrays and to and from numpy, across layouts and dtypes. Takes no lease."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType, is_bare, need_numbers
from ..errors import ShapeError
from ..native import ffi, lib
from ..storage.desc import default_desc
from ..storage.kernels import elementwise
from ..storage.reorder import reorder_mem
from ..storage.stream import Mem, Stream
from .bare import numbers_of
from .layout import (
    AnyArray,
    create_data,
    default_elements,
    get_data,
    numbers,
    overwrite,
    plain_numpy,
    write_mem,
)
from .ndarray import NDArray

_copy = lib.ndrt_chunk_copy

# shape, dtype, address of the chunk, offset into it, and bytes of an array
Place = tuple[tuple[int, ...], DType, int, int, int]


def read_numpy(x: NDArray, stream: Stream) -> AnyArray:
    """The contents as a new numpy array; the array's layout stays.

    Raises MissingPackage for bfloat16 without ml_dtypes.
    """
    need_numbers(x.dtype)
    return read_elements(x, stream)


def read_numbers(x: NDArray, stream: Stream) -> AnyArray:
    """`read_numpy`; bfloat16 without ml_dtypes comes as float32."""
    return numbers_of(read_elements(x, stream))


def read_elements(x: NDArray, stream: Stream) -> AnyArray:
    """`read_numpy` for code that only moves elements: accepts every dtype."""
    special = x._chunk.mkl_mem
    if special is not None and special.dims == x.shape and not x.is_view:
        made: AnyArray = np.empty(x.shape, x.dtype)
        if made.size:
            target = Mem(default_desc(x.dtype, x.shape), ffi.from_buffer(made), made, stream.epoch)
            handle = x._chunk.handle
            reorder_mem(stream, Mem(special, handle.ptr, handle, stream.epoch), target)
        return made
    return np.array(default_elements(x, stream))


def write_numpy(x: NDArray, value: AnyArray, stream: Stream) -> None:
    """Overwrites the array with a numpy array of its shape, cast to its dtype."""
    if value.shape != x.shape:
        raise ShapeError(f"an array of shape {x.shape} was given data of shape {value.shape}")
    overwrite(x, value, stream)


def copy_into(source: NDArray, target: NDArray, stream: Stream,
              add: bool = False) -> None:
    """`target` = (or +=) `source`, of equal shape; an error leaves the target as it was.

    A target that is a whole array takes the layout of the source, so that a copy is one pass.
    """
    try:
        stream.hold((target._chunk,), add)
        _copy_into(source, target, stream, add)
        stream.settle()
    except BaseException:
        stream.drop()
        raise


def _copy_into(source: NDArray, target: NDArray, stream: Stream, add: bool) -> None:
    if source.shape != target.shape:
        raise ShapeError(f"copy: shape {source.shape} into shape {target.shape}")
    if (not add and source.dtype == target.dtype and source.is_special and not target.is_view
            and not target._chunk.native.pins):
        mem = get_data(source, stream)
        made = create_data(target, mem.desc, stream)
        if made is not None:
            if made.ptr != mem.ptr:
                stream.kernel(elementwise.copy(out=made, data=mem, nbytes=mem.desc.nbytes))
            return
    if add and source.dtype == target.dtype == np.float32 and source.size:
        write_mem(target, get_data(source, stream), stream, add=True)
        return
    value = numbers(source, stream)
    if add and is_bare(target.dtype):
        write_numpy(target, numbers(target, stream) + value, stream)
        return
    if add:
        target._chunk.reorder_to_default(stream)
        view = plain_numpy(target)
        with np.errstate(all="ignore"):
            np.add(view, value, out=view, casting="unsafe")
        return
    if target._chunk.is_allocated and target._chunk is source._chunk:
        value = np.array(value)
    write_numpy(target, value, stream)


def copy_plain(value: Any, target: NDArray) -> bool:
    """Copies between default-layout arrays of one shape and dtype in one native call; returns False
    if more than that is needed."""
    return copy_to_place(value, place_of(target))


def place_of(target: NDArray) -> Place:
    """The location of an array for `copy_to_place`; valid as long as the array lives."""
    return target.shape, target.dtype, target._chunk.address, target._byte_offset, target.nbytes


def copy_to_place(value: Any, place: Place) -> bool:
    """`copy_plain` to a location from `place_of`, the fast path of small networks."""
    shape, dtype, address, offset, nbytes = place
    return (isinstance(value, NDArray) and value.shape == shape
            # dtypes are mostly one object, and comparing two takes longer than the copy
            and (value.dtype is dtype or value.dtype == dtype)
            and _copy(address, offset, value._chunk.address, value._byte_offset, nbytes) == 1)
