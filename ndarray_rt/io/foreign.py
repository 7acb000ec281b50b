"""Arrays of the engine and of NumPy on one memory, for readers of files that make NumPy arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from ..context import Context
from ..dtypes import DType
from ..storage.chunk import Chunk
from ..storage.handle import Handle

AnyArray = np.ndarray[Any, Any]


class _Memory:
    """What NumPy finds a Handle's bytes by, and keeps alive."""

    def __init__(self, handle: Handle, shape: tuple[int, ...], dtype: DType) -> None:
        self.handle = handle
        self.__array_interface__ = {"data": (handle.address, False), "shape": shape,
                                    "typestr": dtype.str, "version": 3}


def new_numpy(shape: tuple[int, ...], dtype: DType) -> AnyArray:
    """An array with arbitrary contents in the engine's memory: for what is to be read from a file
    at once."""
    handle = Handle(prod(shape) * dtype.itemsize, soon=True)
    return np.asarray(_Memory(handle, shape, dtype))


def over_numpy(values: AnyArray, dtype: DType, ctx: Context) -> NDArray:
    """An array on the memory of C-contiguous values that nobody else will use any more."""
    if not values.size:
        return NDArray(Chunk(values.shape, dtype), values.shape, dtype, ctx=ctx)
    return NDArray(Chunk(values.shape, dtype, handle=_handle_of(values)), values.shape, dtype,
                   ctx=ctx)


def _handle_of(values: AnyArray) -> Handle:
    address: int = values.__array_interface__["data"][0]
    owner: Any = values
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, _Memory) and (owner.handle.address, owner.handle.nbytes) == (
            address, values.nbytes):
        return owner.handle
    return Handle.borrowed(address, values.nbytes, values)
