"""Arrays of given contents in every kind of memory that an operator can meet.

A kind is a word, with a oneDNN tag behind a colon where it names a layout:

    plain             a Chunk of its own, default layout
    view              rows in the middle of a larger array
    reshaped          another shape over a Chunk
    reused            as_array on a larger buffer of an earlier life; an output still carries that
                      life's special layout
    pinned            exported: the bytes may not be moved or converted
    special:TAG       in a layout of oneDNN's; padded where the channels do not fill a block
    grouped:G:TAG     a weight in a layout of one dim more, with G groups in front
    view_special:TAG  rows in the middle of a larger array in a special layout
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..dtypes import native_code
from ..errors import NdrtError
from ..ndarray.copy import read_numpy, write_numpy
from ..ndarray.layout import grouped_dims
from ..ndarray.ndarray import NDArray, new_array
from ..storage.desc import MemDesc, tagged_desc
from ..storage.stream import ImmediateStream
from .layout_model import assert_padding_zero, peek, read_only

Array = np.ndarray[Any, np.dtype[Any]]

PLAIN_KINDS = ("plain", "view", "reshaped", "reused", "pinned")
BEFORE, AFTER = 2, 1  # rows around a view
# dtypes that oneDNN can reorder
REORDERED = ("float32", "int32", "int8", "uint8")


@dataclass
class Made:
    """An array of a kind, the array that it is a part of, and what lay around it."""

    array: NDArray
    base: NDArray
    kind: str
    around: Array | None = None  # contents of the base when it was made
    address: int = 0  # of pinned bytes

    def check(self) -> None:
        """Asserts that the array really is what its kind says."""
        chunk, word = self.array.chunk, self.kind.split(":")[0]
        is_view = word in ("view", "reshaped", "view_special")
        assert self.array.is_view == is_view, f"{self.kind}: is_view is {self.array.is_view}"
        special = word in ("special", "grouped", "view_special") or self.around_is_stale
        assert self.array.is_special == special, f"{self.kind}: is_special is not {special}"
        if special and not self.around_is_stale:
            desc = self._desc()
            assert chunk.mkl_mem is desc
            assert desc.is_padded == is_padded(desc), f"{self.kind}: is_padded is wrong"
            assert not desc.is_default
            assert chunk.nbytes >= desc.nbytes
            if word == "grouped":
                assert desc.ndims == self.array.ndim + 1
        if word == "reused":
            assert self.array.reuse
            assert chunk.nbytes > self.array.nbytes
        if word == "pinned":
            assert chunk.pins == 1

    def _desc(self) -> MemDesc:
        found = layout_of(self.kind, self.base.shape, self.base.dtype)
        assert found is not None
        return found

    @property
    def around_is_stale(self) -> bool:
        return self.kind == "reused:stale"

    def release(self) -> None:
        """Ends what `make` began."""
        if self.kind == "pinned" and self.array.chunk.pins:
            self.array.chunk.unpin(True)


def is_padded(desc: MemDesc) -> bool:
    """Do the blocks reach beyond the dims? Counted here and not asked of the descriptor."""
    blocks: dict[int, int] = {}
    for block, dim in zip(desc.inner_blks, desc.inner_idxs, strict=True):
        blocks[dim] = blocks.get(dim, 1) * block
    return any(desc.dims[dim] % block for dim, block in blocks.items())


def layout_of(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> MemDesc | None:
    """The layout that a kind names, for an array of this shape; None when it names none."""
    word, *rest = kind.split(":")
    if word in ("special", "view_special"):
        return tagged_desc(dtype, shape, rest[0])
    if word == "grouped":
        return tagged_desc(dtype, grouped_dims(shape, int(rest[0])), rest[1])
    return None


def possible(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Can an array of this shape and dtype be of this kind?"""
    if not kind.startswith(("special", "grouped", "view_special")):
        return True
    if native_code(dtype) is None or dtype.name not in REORDERED or prod(shape) == 0:
        return False
    if kind.startswith("view_special"):
        shape = (shape[0] + BEFORE + AFTER, *shape[1:]) if shape else shape
    try:
        desc = layout_of(kind, shape, dtype)
    except NdrtError:
        return False
    # where all dims but one are 1, a layout may be the default one under another name
    return desc is not None and not desc.is_default


def make(value: Array, kind: str, stream: ImmediateStream, output: bool = False,
         keep: bool = True) -> Made:
    """An array of contents `value` in a kind.

    `output` with `keep` False: the contents are garbage, and reused memory carries a stale layout.
    """
    if kind.startswith("view"):
        return _make_view(value, kind, stream)
    if kind == "reshaped":
        shape = (value.size,) if value.ndim != 1 else (1, value.size)
        base = new_array(shape, value.dtype)
        array = base.view_as(value.shape)
        write_numpy(array, value, stream)
        return Made(array, base, kind)
    if kind == "reused":
        return _make_reused(value, stream, stale=output and not keep)
    array = new_array(value.shape, value.dtype)
    write_numpy(array, value, stream)
    made = Made(array, array, kind)
    desc = layout_of(kind, value.shape, value.dtype)
    if desc is not None:
        array.chunk.reorder(desc, stream)
    if kind == "pinned":
        array.chunk.pin(True)
        made.address = array.chunk.handle.address
    return made


def _make_view(value: Array, kind: str, stream: ImmediateStream) -> Made:
    rows, rest = (value.shape[0], value.shape[1:]) if value.ndim else (1, ())
    base = new_array((BEFORE + rows + AFTER, *rest), value.dtype)
    whole = np.full(base.shape, 7, value.dtype)
    whole[BEFORE:BEFORE + rows] = value
    write_numpy(base, whole, stream)
    array = base.rows(BEFORE, BEFORE + rows)
    if not value.ndim:
        array = array.view_as(())
    desc = layout_of(kind, base.shape, base.dtype)
    if desc is not None:
        base.chunk.reorder(desc, stream)
    return Made(array, base, kind, whole)


def _make_reused(value: Array, stream: ImmediateStream, stale: bool) -> Made:
    """On memory that held an array of 20 channels before, perhaps still in a padded layout."""
    columns = max(1, -(-(value.nbytes + 4) // (4 * 2 * 20)))
    earlier = new_array((2, 20, 1, columns), np.dtype(np.float32))
    write_numpy(earlier, np.full(earlier.shape, np.nan, np.float32), stream)
    if stale:
        earlier.chunk.reorder(tagged_desc(earlier.dtype, earlier.shape, "aBcd16b"), stream)
        array = earlier.as_array(value.shape, value.dtype)
        return Made(array, array, "reused:stale")
    array = earlier.as_array(value.shape, value.dtype)
    write_numpy(array, value, stream)
    return Made(array, array, "reused")


def contents(made: Made, stream: ImmediateStream) -> Array:
    """What a reader sees; a special layout is read by the model too, and must agree."""
    array = made.array
    seen = read_numpy(array, stream)
    desc = array.chunk.mkl_mem
    if desc is not None and desc.nelems == array.size and not array.is_view:
        model = peek(array).reshape(array.shape)
        assert model.tobytes() == seen.tobytes(), f"{desc!r} is not read as its layout says"
        assert_padding_zero(array.chunk, made.kind)
    return seen


def assert_around_unchanged(made: Made, stream: ImmediateStream) -> None:
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
        chunk = array.chunk
        return cls(read_only(chunk) if chunk.is_allocated else None, chunk.mkl_mem, chunk.version,
                   chunk.writes)
