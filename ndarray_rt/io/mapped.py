"""Arrays on the bytes of a file, mapped privately: writes to them never reach the file."""

from __future__ import annotations

import mmap
from math import prod
from typing import BinaryIO

import numpy as np

from .._array.ndarray import NDArray
from ..context import cpu
from ..dtypes import DType
from ..storage.chunk import Chunk
from ..storage.handle import Handle


class Image:
    """The bytes of a file as memory; it stays as long as an array lies on it."""

    def __init__(self, file: BinaryIO) -> None:
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._address: int = np.frombuffer(self._map, np.uint8).__array_interface__["data"][0]

    def array(self, shape: tuple[int, ...], dtype: DType, begin: int) -> NDArray:
        """An array on the bytes from `begin` on; the caller has checked that they are there and
        that `begin` is a multiple of an element."""
        nbytes = prod(shape) * dtype.itemsize
        handle = Handle.borrowed(self._address + begin, nbytes, self._map)
        return NDArray(Chunk(shape, dtype, handle=handle), shape, dtype, ctx=cpu())


def map_privately(file: BinaryIO) -> Image:
    """The bytes of an open file. OSError where its file system can not map it."""
    return Image(file)
