"""Parts that lie in memory as their join wants them. Runs nothing and registers no operator."""

from __future__ import annotations

from collections.abc import Sequence

from ..._array.layout import get_data
from ..._array.ndarray import NDArray
from ...errors import Unsupported
from ...native import ffi
from ...storage.desc import MemDesc, blocked_desc
from ...storage.stream import Mem, Stream
from .pointwise import Dims, dense_like, dtype_of


def joined_in_place(parts: Sequence[NDArray], axis: int, whole: NDArray,
                    stream: Stream) -> MemDesc | None:
    """The layout in which `whole` is its parts as they lie, or None: they are to be copied.

    Unsupported where parts lie in the memory of `whole`, but otherwise than that wants them, so
    that no copy can be made part by part.
    """
    if whole.is_view:
        return None
    start = whole._chunk.handle.address
    end = start + whole._chunk.nbytes
    mems = [get_data(part, stream) for part in parts]
    addresses = [_address(mem) for mem in mems]
    if not any(start <= address < end for address in addresses):
        return None
    desc = _whole_desc(mems[0].desc, whole.shape)
    if desc is not None and _is_outermost(axis, desc):
        at = start
        for mem, address in zip(mems, addresses, strict=True):
            wanted = _whole_desc(desc, mem.desc.dims)
            if (address != at or wanted is None or wanted.same_as != mem.desc.same_as
                    or mem.desc.padded_dims[axis] != mem.desc.dims[axis]):
                break
            at += mem.desc.nbytes
        else:
            if at == start + desc.nbytes <= end:
                return desc
    raise Unsupported("parts lie in the memory of the result in other layouts")


def _address(mem: Mem) -> int:
    return int(ffi.cast("uintptr_t", mem.ptr))


def _whole_desc(like: MemDesc, dims: Dims) -> MemDesc | None:
    """The layout of `dims` that is `like` another one, or None: it has no name."""
    if not like.inner_blks:
        return dense_like(like, dims)
    if like.inner_idxs != (1,):
        return None
    block, dtype = like.inner_blks[0], dtype_of(like)
    if blocked_desc(dtype, like.dims, block).same_as != like.same_as:
        return None
    return blocked_desc(dtype, dims, block)


def _is_outermost(axis: int, desc: MemDesc) -> bool:
    """No other axis makes as long a step in memory; an axis within one block makes none."""
    blocks = dict(zip(desc.inner_idxs, desc.inner_blks, strict=True))
    return all(desc.strides[axis] > desc.strides[other] for other in range(desc.ndims)
               if other != axis and desc.padded_dims[other] > blocks.get(other, 1))
