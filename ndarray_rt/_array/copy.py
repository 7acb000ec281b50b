"""Copies between arrays and to and from numpy, across layouts and dtypes. Takes no lease."""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..native import ffi, lib
from ..storage.desc import default_desc
from ..storage.reorder import reorder_mem
from ..storage.stream import ImmediateStream, Mem
from .layout import (
    AnyArray,
    create_data,
    default_numpy,
    get_data,
    overwrite,
    plain_numpy,
    write_mem,
)
from .ndarray import NDArray


def read_numpy(x: NDArray, stream: ImmediateStream) -> AnyArray:
    """The contents as a new numpy array; the array's layout stays."""
    special = x._chunk.mkl_mem
    if special is not None and special.dims == x.shape and not x.is_view:
        made: AnyArray = np.empty(x.shape, x.dtype)
        if made.size:
            target = Mem(default_desc(x.dtype, x.shape), ffi.from_buffer(made), made, stream.epoch)
            handle = x._chunk.handle
            reorder_mem(stream, Mem(special, handle.ptr, handle, stream.epoch), target)
        return made
    return np.array(default_numpy(x, stream))


def write_numpy(x: NDArray, value: AnyArray, stream: ImmediateStream) -> None:
    """Overwrites the array with a numpy array of its shape, cast to its dtype."""
    if value.shape != x.shape:
        raise ShapeError(f"an array of shape {x.shape} was given data of shape {value.shape}")
    overwrite(x, value, stream)


def copy_into(source: NDArray, target: NDArray, stream: ImmediateStream,
              add: bool = False) -> None:
    """`target` = (or +=) `source`, of equal shape; what raises leaves the target as it was.

    A whole target takes the layout of the source, so that a copy costs one pass.
    """
    try:
        stream.hold((target._chunk,), add)
        _copy_into(source, target, stream, add)
        stream.settle()
    except BaseException:
        stream.drop()
        raise


def _copy_into(source: NDArray, target: NDArray, stream: ImmediateStream, add: bool) -> None:
    if source.shape != target.shape:
        raise ShapeError(f"copy: shape {source.shape} into shape {target.shape}")
    if (not add and source.dtype == target.dtype and source.is_special and not target.is_view
            and not target._chunk.native.pins):
        mem = get_data(source, stream)
        made = create_data(target, mem.desc, stream)
        if made is not None:
            if made.ptr != mem.ptr:
                stream.kernel(lib.NDRT_KERNEL_COPY, [mem.desc.nbytes], [made, mem])
            return
    if add and source.dtype == target.dtype == np.float32 and source.size:
        write_mem(target, get_data(source, stream), stream, add=True)
        return
    value = default_numpy(source, stream)
    if add:
        target._chunk.reorder_to_default(stream)
        view = plain_numpy(target)
        with np.errstate(all="ignore"):
            np.add(view, value, out=view, casting="unsafe")
        return
    if target._chunk.is_allocated and target._chunk is source._chunk:
        value = np.array(value)
    write_numpy(target, value, stream)
