"""Made: an array of a kind, and the proof that it is of that kind, before a call and after it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .._array.copy import read_numpy
from .._array.ndarray import NDArray
from ..storage.desc import MemDesc
from ..storage.stream import Stream
from .kind_words import (
    AFTER,
    BEFORE,
    is_padded,
    is_reused_kind,
    is_special_kind,
    is_view_kind,
    layout_of,
    word_of,
)
from .layout_model import assert_padding_zero, peek, read_only

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Made:
    """An array of a kind, the array that it is a part of, and what lay around it."""

    array: NDArray
    base: NDArray
    kind: str
    around: Array | None = None  # contents of the base when it was made
    address: int = 0  # of pinned bytes
    exported: Array | None = None  # what a user holds of a pinned array
    partner: NDArray | None = None  # what an overlapping array overlaps
    released: bool = False

    def check(self) -> None:
        """Asserts that the array really is what its kind says."""
        array, kind, word = self.array, self.kind, word_of(self.kind)
        assert array.is_view == is_view_kind(kind), f"{kind}: is_view is {array.is_view}"
        assert array._reuse == is_reused_kind(kind), f"{kind}: reuse is {array._reuse}"
        special = is_special_kind(kind)
        assert array.is_special == special, f"{kind}: is_special is not {special}"
        if special:
            self._check_layout()
        if word == "nested":
            assert array._byte_offset > 0 or not array.nbytes, f"{kind}: begins where its base does"
        if word == "reused_view":
            assert array._is_part, f"{kind}: is no part of reused memory"
        if word == "reused":
            self._check_reused()
        if word == "pinned":
            self._check_pinned()
        if word == "overlap":
            self._check_overlap()

    def _check_layout(self) -> None:
        kind, chunk = self.kind, self.array._chunk
        desc = chunk.mkl_mem
        assert desc is not None
        if kind in ("reused:kept", "reused:stale"):
            assert desc.dims != self.array.shape, f"{kind}: the layout is of this life"
        else:
            named = layout_of(kind, self.base.shape, self.base.dtype)
            assert desc is named, f"{kind}: the layout is {desc!r}, not {named!r}"
        assert desc.is_padded == is_padded(desc), f"{kind}: is_padded is wrong"
        assert not desc.is_default, f"{kind}: the layout is the default one"
        assert chunk.nbytes >= desc.nbytes, f"{kind}: the layout is larger than the memory"
        if word_of(kind) == "grouped":
            assert desc.ndims == self.array.ndim + 1, f"{kind}: rank {desc.ndims} over an array"

    def _check_reused(self) -> None:
        """The memory has the earlier life that the kind names."""
        array, kind, chunk = self.array, self.kind, self.array._chunk
        earlier = prod(chunk.storage_shape) * chunk.dtype.itemsize
        life = kind.partition(":")[2]
        if life == "same":
            right = (chunk.storage_shape, chunk.dtype) == (array.shape, array.dtype)
        elif life == "other":
            right = chunk.dtype != array.dtype
        elif life == "grown":
            right = earlier < array.nbytes
        else:
            right = earlier > array.nbytes
        assert right, (f"{kind}: the earlier life had shape {chunk.storage_shape} of "
                       f"{chunk.dtype} for {array.shape} of {array.dtype}")
        assert chunk.nbytes >= array.nbytes, f"{kind}: too little memory"

    def _check_pinned(self) -> None:
        chunk, exported = self.array._chunk, self.exported
        assert exported is not None
        assert chunk.pins == 1, f"{self.kind}: {chunk.pins} pins"
        writable = self.kind != "pinned:read"
        assert int(chunk.native.writable_pins) == writable, f"{self.kind}: wrong writable pins"
        assert exported.flags.writeable == writable, f"{self.kind}: wrong writeable flag"
        assert chunk.handle.address == self.address, f"{self.kind}: exported bytes were moved"
        if exported.size:
            where = self.address + self.array._byte_offset
            assert exported.ctypes.data == where, f"{self.kind}: the export is elsewhere"

    def _check_overlap(self) -> None:
        a, b = self.array, self.partner
        assert b is not None
        assert a._chunk is b._chunk, f"{self.kind}: two Chunks can not overlap"
        low = max(a._byte_offset, b._byte_offset)
        high = min(a._byte_offset + a.nbytes, b._byte_offset + b.nbytes)
        assert low < high, f"{self.kind}: the arrays share no byte"
        assert (a._byte_offset, a.nbytes) != (b._byte_offset, b.nbytes), f"{self.kind}: all shared"

    def check_after(self) -> None:
        """Asserts what must hold after any call: memory, layout and export still fit the array."""
        array, kind, chunk = self.array, self.kind, self.array._chunk
        assert array.is_view == is_view_kind(kind), f"{kind}: is_view changed"
        assert array._reuse == is_reused_kind(kind), f"{kind}: reuse changed"
        if not chunk.is_allocated:
            return
        assert array._byte_offset + array.nbytes <= chunk.nbytes, f"{kind}: beyond its memory"
        desc = chunk.mkl_mem
        if desc is not None:
            assert not desc.is_default, f"{kind}: a default layout counts as special"
            assert desc.nbytes <= chunk.nbytes, f"{kind}: the layout is larger than the memory"
            own = prod(desc.dims) * (desc.nbytes and chunk_itemsize(desc))
            assert own >= array._byte_offset + array.nbytes, f"{kind}: larger than its layout"
            assert_padding_zero(chunk, kind)
        if word_of(kind) == "pinned" and not self.released:
            assert desc is None, f"{kind}: exported bytes were converted"
            self._check_pinned()

    def release(self) -> None:
        """Ends what `make` began."""
        self.exported = None
        self.released = True


def chunk_itemsize(desc: MemDesc) -> int:
    """Bytes of one element of a layout."""
    return np.dtype(desc.dtype_name).itemsize if desc.dtype_name != "bfloat16" else 2


def contents(made: Made, stream: Stream) -> Array:
    """What a reader sees; a special layout is read by the model too, and must agree."""
    array = made.array
    seen = read_numpy(array, stream)
    desc = array._chunk.mkl_mem
    if desc is not None and desc.nelems == array.size and not array.is_view and (
            desc.dtype_name == array.dtype.name):
        model = peek(array).reshape(array.shape)
        assert model.tobytes() == seen.tobytes(), f"{desc!r} is not read as its layout says"
        assert_padding_zero(array._chunk, made.kind)
    return seen


def assert_around_unchanged(made: Made, stream: Stream) -> None:
    """What lies around a view is what was there before."""
    if made.around is None:
        return
    now = read_numpy(made.base, stream)
    stop = len(now) - AFTER
    for part in (slice(0, BEFORE), slice(stop, None)):
        assert now[part].tobytes() == made.around[part].tobytes(), "a write left its view"


@dataclass(frozen=True)
class Snapshot:
    """Bytes, layout and counters of a Chunk at one moment."""

    data: bytes | None
    layout: MemDesc | None
    version: int
    writes: int

    @classmethod
    def of(cls, array: NDArray) -> Snapshot:
        chunk = array._chunk
        return cls(read_only(chunk) if chunk.is_allocated else None, chunk.mkl_mem, chunk.version,
                   chunk.writes)
