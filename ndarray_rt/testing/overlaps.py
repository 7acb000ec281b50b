"""Two arrays that share some of their bytes, but not all: rows or elements apart on one storage.

    overlap:rows          equal shapes, one row apart
    overlap:special:TAG   the same over a storage in a special layout
    overlap:reused        the same over memory of an earlier life
    overlap:flat          any shapes, one element apart
    overlap:ends          any shapes, the last element of one is the first of the other
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.copy import write_numpy
from .._array.ndarray import NDArray, new_array
from ..storage.stream import Stream
from .kind_words import layout_of, why_not
from .made import Made

Array = np.ndarray[Any, np.dtype[Any]]
ROW_KINDS = ("overlap:rows", "overlap:reused")
FLAT_KINDS = ("overlap:flat", "overlap:ends")


def why_no_overlap(kind: str, a: Array, b: Array) -> str | None:
    """Why arrays like these can not overlap in that way; None when they can."""
    if a.dtype != b.dtype:
        return "other dtypes do not overlap by elements"
    if kind in FLAT_KINDS:
        if min(a.size, b.size) < 1 or max(a.size, b.size) < 2:
            return "less than two elements overlap wholly or not at all"
        return None
    if a.shape != b.shape or a.ndim < 1 or a.size == 0:
        return "other shapes, or no rows, are not a row apart"
    if len(a) < 2:
        return "less than two rows overlap wholly or not at all"
    if kind.startswith("overlap:special:"):
        tag = kind.rpartition(":")[2]
        return why_not(f"special:{tag}", (len(a) + 2, *a.shape[1:]), a.dtype)
    return None


def overlapping(a: Array, b: Array, kind: str, before: bool,
                stream: Stream) -> tuple[Made, Made]:
    """Arrays like `a` and `b` on one storage; `before`: b begins before a, else after it.

    The first holds the contents of `a`, the second what is then there.
    """
    if kind in FLAT_KINDS:
        return _flat(a, b, kind, before, stream)
    whole = np.zeros((len(a) + 2, *a.shape[1:]), a.dtype)
    whole[1:-1] = a
    if kind == "overlap:reused":
        base = new_array((whole.nbytes + 64,), np.dtype(np.int8))._as_array(whole.shape, a.dtype)
    else:
        base = new_array(whole.shape, a.dtype)
    write_numpy(base, whole, stream)
    desc = layout_of(kind, base.shape, base.dtype)
    if desc is not None:
        base._chunk.reorder(desc, stream)
    start = 0 if before else 2
    return _pair(base._rows(1, 1 + len(a)), base._rows(start, start + len(a)), base, kind)


def _flat(a: Array, b: Array, kind: str, before: bool,
          stream: Stream) -> tuple[Made, Made]:
    ends = (1 - b.size, a.size - 1)  # one element is shared
    step = ends[not before]
    if kind == "overlap:flat":
        step = min(max(-1 if before else 1, ends[0]), ends[1])
    low, high = min(0, step), max(a.size, step + b.size)
    whole = np.zeros(high - low, a.dtype)
    whole[-low:a.size - low] = a.ravel()
    base = new_array((whole.size + 1,), a.dtype)  # one more, so that either is a view
    write_numpy(base, np.append(whole, a.dtype.type(0)), stream)
    first = base._rows(-low, a.size - low)._view_as(a.shape)
    second = base._rows(step - low, step - low + b.size)._view_as(b.shape)
    return _pair(first, second, base, kind)


def _pair(first: NDArray, second: NDArray, base: NDArray, kind: str) -> tuple[Made, Made]:
    return (Made(first, base, kind, partner=second), Made(second, base, kind, partner=first))
