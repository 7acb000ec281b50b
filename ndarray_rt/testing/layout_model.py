"""Where a layout puts each element, in numpy: the model that layouts are tested against.

Written from oneDNN's definition of a blocked layout; runs no oneDNN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from ..dtypes import find_dtype
from ..storage.chunk import Chunk
from ..storage.desc import MemDesc

Array = np.ndarray[Any, np.dtype[Any]]

def offsets(desc: MemDesc) -> Array:
    """The place of each element, counted in elements, as an array of the layout's dims."""
    where = [index.astype(np.int64) for index in np.indices(desc.dims, sparse=True)]
    found = np.full(desc.dims, desc.offset0, np.int64)
    step = 1
    for block, dim in zip(reversed(desc.inner_blks), reversed(desc.inner_idxs), strict=True):
        found = found + (where[dim] % block) * step
        where[dim] = where[dim] // block
        step *= block
    for dim, stride in enumerate(desc.strides):
        found = found + where[dim] * stride
    return found


def physical(chunk: Chunk, desc: MemDesc) -> Array:
    """A copy of the elements as they lie in memory, padding included."""
    raw = np.frombuffer(chunk.handle.buffer(), np.uint8, desc.nbytes)
    return np.array(raw).view(find_dtype(desc.dtype_name))


def peek(array: NDArray) -> Array:
    """The contents of an array in a special layout, read without oneDNN."""
    desc = array._chunk.mkl_mem
    assert desc is not None
    return physical(array._chunk, desc)[offsets(desc)]


def padding(chunk: Chunk) -> Array:
    """The elements that are padding; empty when the layout has none."""
    desc = chunk.mkl_mem
    if desc is None or not desc.is_padded:
        return np.empty(0, np.float32)
    cells = physical(chunk, desc)
    used = np.zeros(cells.size, bool)
    used[offsets(desc)] = True
    return cells[~used]


def assert_padding_zero(chunk: Chunk, what: str) -> None:
    """Padding is zero, byte for byte."""
    cells = padding(chunk)
    dirty = int(np.count_nonzero(cells.view(np.uint8)))
    assert dirty == 0, f"{what}: {dirty} bytes of the padding of {chunk.mkl_mem!r} are not zero"


def read_only(chunk: Chunk) -> bytes:
    """All bytes of the Chunk's buffer."""
    return bytes(chunk.handle.buffer())
