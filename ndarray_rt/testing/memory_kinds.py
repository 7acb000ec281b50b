"""Arrays of given contents in every kind of memory that an operator can meet.

A kind is a word, with further words or a oneDNN tag behind colons:

    plain                 a Chunk of its own, default layout
    view                  rows in the middle of a larger array
    reshaped              another shape over a Chunk
    nested                a slice of a reshape of a slice
    reused                as_array on a larger buffer of an earlier life of float32; an output still
                          carries that life's special layout
    reused:same           the earlier life had this shape and dtype
    reused:other          the earlier life had another dtype; so had an output's stale layout
    reused:grown          the earlier life was smaller: check_and_alloc had to grow the memory
    reused:kept           the earlier life's special layout still holds these contents
    reused_view           rows of a reused array
    pinned                exported, writable: the bytes may not be moved or converted
    pinned:read           exported, read-only
    pinned:view           rows of a larger array, exported
    special:TAG           in a layout of oneDNN's; padded where the channels do not fill a block
    special_reused:TAG    the same on memory of an earlier life
    grouped:G:TAG         in a layout of one dim more, with G groups in front
    view_special:TAG      rows in the middle of a larger array in a special layout
    reshaped_special:TAG  another shape over a storage in a special layout
    overlap:...           shares some bytes with another array (overlaps.py)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.copy import write_numpy
from .._array.interop import export
from .._array.ndarray import NDArray, new_array
from ..dtypes import is_float
from ..storage.desc import tagged_desc
from ..storage.stream import Stream
from .kind_words import (
    AFTER,
    BEFORE,
    PLAIN_KINDS,
    REORDERED,
    base_shape,
    is_padded,
    layout_of,
    possible,
    why_not,
    word_of,
)
from .made import Made, Snapshot, assert_around_unchanged, contents

__all__ = ["AFTER", "BEFORE", "PLAIN_KINDS", "REORDERED", "Array", "Made", "Snapshot",
           "assert_around_unchanged", "contents", "is_padded", "layout_of", "make", "possible",
           "why_not"]

Array = np.ndarray[Any, np.dtype[Any]]
FLOAT32, INT8, FLOAT64 = np.dtype(np.float32), np.dtype(np.int8), np.dtype(np.float64)


def make(value: Array, kind: str, stream: Stream, output: bool = False,
         keep: bool = True) -> Made:
    """An array of contents `value` in a kind.

    `output` with `keep` False: the contents are garbage, and reused memory carries a stale layout.
    """
    word = word_of(kind)
    if word in ("view", "view_special", "nested", "reused_view") or kind == "pinned:view":
        return _make_rows(value, kind, stream)
    if word in ("reshaped", "reshaped_special"):
        return _make_reshaped(value, kind, stream)
    if word == "reused":
        return _make_reused(value, kind, stream, output and not keep)
    if word == "special_reused":
        array = _earlier(value, FLOAT32, stream)._as_array(value.shape, value.dtype)
    else:
        array = new_array(value.shape, value.dtype)
    write_numpy(array, value, stream)
    desc = layout_of(kind, value.shape, value.dtype)
    if desc is not None:
        array._chunk.reorder(desc, stream)
    return _pinned(Made(array, array, kind))


def _pinned(made: Made) -> Made:
    """Exports the array as a user would, where the kind says so."""
    if word_of(made.kind) == "pinned":
        made.exported = export(made.array, writable=made.kind != "pinned:read")
        made.address = made.array._chunk.handle.address
    return made


def _make_rows(value: Array, kind: str, stream: Stream) -> Made:
    """Rows in the middle of something larger, whose other rows hold 7."""
    rows, rest = (value.shape[0], value.shape[1:]) if value.ndim else (1, ())
    shape = (BEFORE + rows + AFTER, *rest)
    whole = np.full(shape, 7, value.dtype)
    whole[BEFORE:BEFORE + rows] = value
    if kind == "reused_view":
        base = _earlier(whole, FLOAT32, stream)._as_array(shape, value.dtype)
    else:
        base = new_array(shape, value.dtype)
    write_numpy(base, whole, stream)
    if kind == "nested":
        array = _nested(base, value.shape)
    else:
        array = base._rows(BEFORE, BEFORE + rows)
        if not value.ndim:
            array = array._view_as(())
    desc = layout_of(kind, base.shape, base.dtype)
    if desc is not None:
        base._chunk.reorder(desc, stream)
    return _pinned(Made(array, base, kind, whole))


def _nested(base: NDArray, shape: tuple[int, ...]) -> NDArray:
    """The middle rows of `base`, by way of a slice, a reshape to one dim and a slice of that."""
    row = base.size // base.shape[0]
    size = row * (base.shape[0] - BEFORE - AFTER)
    flat = base._rows(1, base.shape[0])._view_as((row * (base.shape[0] - 1),))
    return flat._rows((BEFORE - 1) * row, (BEFORE - 1) * row + size)._view_as(shape)


def _make_reshaped(value: Array, kind: str, stream: Stream) -> Made:
    shape: tuple[int, ...] = (value.size,) if value.ndim != 1 else (1, value.size)
    if kind != "reshaped":
        shape = base_shape(kind, value.shape) or shape
    base = new_array(shape, value.dtype)
    array = base._view_as(value.shape)
    write_numpy(array, value, stream)
    desc = layout_of(kind, shape, value.dtype)
    if desc is not None:
        base._chunk.reorder(desc, stream)
    return Made(array, base, kind)


def _earlier(value: Array, dtype: np.dtype[Any], stream: Stream) -> NDArray:
    """An array of 20 channels of more bytes than the value has and of another shape, used up."""
    columns = max(1, -(-(value.nbytes + 4) // (dtype.itemsize * 2 * 20)))
    columns += value.shape == (2, 20, 1, columns)
    earlier = new_array((2, 20, 1, columns), dtype)
    write_numpy(earlier, np.full(earlier.shape, np.nan if is_float(dtype) else 3, dtype), stream)
    return earlier


def _make_reused(value: Array, kind: str, stream: Stream, stale: bool) -> Made:
    """On memory that held another array before, perhaps still in that one's layout."""
    life = kind.partition(":")[2]
    if stale and life in ("", "other"):
        dtype = FLOAT32 if not life else INT8 if value.dtype != INT8 else FLOAT32
        earlier = _earlier(value, dtype, stream)
        earlier._chunk.reorder(tagged_desc(dtype, earlier.shape, "aBcd16b"), stream)
        array = earlier._as_array(value.shape, value.dtype)
        return Made(array, array, "reused:stale")
    if life == "same":
        earlier = new_array(value.shape, value.dtype)
    elif life == "other":
        earlier = _earlier(value, FLOAT64 if value.dtype != FLOAT64 else FLOAT32, stream)
    elif life == "grown":
        earlier = new_array((1,), INT8)
        earlier._check_and_alloc()
        version = earlier._chunk.version
        earlier._check_and_alloc(value.nbytes)
        assert earlier._chunk.version > version, "growth was not counted"
    else:
        earlier = _earlier(value, value.dtype if life == "kept" else FLOAT32, stream)
    array = earlier._as_array(value.shape, value.dtype)
    write_numpy(array, value, stream)
    if life == "kept":
        earlier._chunk.reorder(tagged_desc(earlier.dtype, earlier.shape, "aBcd16b"), stream)
    return Made(array, array, kind)
