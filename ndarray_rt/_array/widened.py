"""Widened: a 16-bit array as float32, for one operator call. Decides nothing."""

from __future__ import annotations

from math import prod

from ..dtypes import FLOAT32, DType
from ..native import ffi
from ..storage.chunk import Chunk
from ..storage.desc import MemDesc, default_desc
from ..storage.handle import Handle
from ..storage.reorder import narrow_mem, reorder_mem, widen_mem, widened
from ..storage.stream import Mem, Stream
from .layout import get_data, get_default, write_mem
from .ndarray import NDArray
from .output import Output
from .req import Req

# layouts pad axis 1 to a multiple of this
_BLOCK = 16


class Widened(NDArray):
    """A float32 copy of an array in the stream's scratch, in the array's layout.

    It is made on first access to its memory: never for a weight that has a packed copy. Valid in
    the operator call that made it.
    """

    __slots__ = ("_made", "_stream", "source")

    def __init__(self, source: NDArray, stream: Stream) -> None:
        self.source = source
        self._stream = stream
        self._made: Chunk | None = None
        self._shape, self._dtype, self._ctx = source.shape, FLOAT32, source.ctx
        self._byte_offset = 0
        self._reuse = self._is_part = False
        self._entry, self._grad_state = None, source._grad_state

    @property
    def _chunk(self) -> Chunk:  # type: ignore[override]
        if self._made is None:
            self._made = _read(self.source, self._stream)
        return self._made


def stored_dtype(x: NDArray) -> DType:
    """The dtype of the caller's array, if `x` is that array or its float32 copy."""
    return x.source.dtype if isinstance(x, Widened) else x.dtype


def _read(x: NDArray, stream: Stream) -> Chunk:
    given = get_data(x, stream)
    wide = widened(given.desc)
    if wide is None:
        given = get_default(x, stream)
        wide = default_desc(FLOAT32, given.desc.dims)
    made = stream.scratch(wide)
    widen_mem(stream, given, made)
    return _chunk_of(x.shape, made, wide)


def _address(mem: Mem) -> int:
    return int(ffi.cast("intptr_t", mem.ptr))


def _chunk_of(shape: tuple[int, ...], mem: Mem, desc: MemDesc) -> Chunk:
    chunk = Chunk(shape, FLOAT32, Handle.borrowed(_address(mem), desc.nbytes, mem.keep))
    chunk.set_layout(desc)
    return chunk


def pack_widened(x: NDArray, stream: Stream, to: Mem) -> None:
    """Writes a 16-bit array to a layout of float32, which may have other dims."""
    source = get_default(x, stream).as_desc(default_desc(x.dtype, to.desc.dims))
    reorder_mem(stream, source, to)


def wide_output(out: NDArray, req: Req, stream: Stream) -> NDArray:
    """A float32 array in scratch for a call to write to; with kAddTo it has `out`'s contents."""
    if req == Req.kNullOp:
        return NDArray(Chunk(out.shape, FLOAT32), out.shape, FLOAT32, ctx=out.ctx)
    if req == Req.kAddTo:
        return Widened(out, stream)
    dims = list(out.shape)
    if len(dims) > 1:
        dims[1] = -(-dims[1] // _BLOCK) * _BLOCK
    room = stream.scratch(default_desc(FLOAT32, (prod(dims),)))
    chunk = Chunk(out.shape, FLOAT32, Handle.borrowed(_address(room), room.desc.nbytes, room.keep))
    chunk.is_trained_in_layout = False
    return NDArray(chunk, out.shape, FLOAT32, ctx=out.ctx)


def round_into(out: NDArray, wide: NDArray, stream: Stream) -> None:
    """Rounds `wide` to the dtype of `out`, which takes its layout."""
    made = get_data(wide, stream)
    desc = default_desc(out.dtype, out.shape)
    if not made.desc.is_default:
        desc = made.desc.of_dtype(out.dtype)
        if widened(desc) is not made.desc:
            made = get_default(wide, stream)
            desc = default_desc(out.dtype, out.shape)
    with Output(out, Req.kWriteTo).open(desc, stream) as target:
        narrow_mem(stream, made, target)


def write_back(x: NDArray, wide: NDArray, stream: Stream) -> None:
    """Rounds a changed float32 copy back into an input, whose layout does not change."""
    write_mem(x, get_data(wide, stream), stream)
