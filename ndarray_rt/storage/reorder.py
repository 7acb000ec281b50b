"""Reorder primitives between two layouts, cached. Holds no data."""

from __future__ import annotations

import threading
from collections import OrderedDict
from math import prod

from ..dtypes import FLOAT32, UINT8
from ..errors import Unsupported
from ..fork import renew_in_child
from ..native import lib
from .desc import MemDesc, default_desc
from .kernels.elementwise import narrow, widen
from .primitive import Kind, Primitive, make_primitive
from .stream import Mem, Stream

CAPACITY = 256


class ReorderCache:
    """Layout pair -> primitive; bounded, evicts the least recently used. Thread-safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[int, int, bool, int], Primitive] = OrderedDict()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.Lock()

    def get(self, src: MemDesc, dst: MemDesc, add: bool = False) -> Primitive:
        """The reorder from `src` to `dst`; with `add` it adds to the contents of `dst`."""
        key = (src.id, dst.id, add, lib.ndrt_threads_get())
        with self._lock:
            found = self._made.get(key)
            if found is not None:
                self._made.move_to_end(key)
                return found
        made = make_primitive(Kind.REORDER, src=src, dst=dst, post_sum=add)
        with self._lock:
            self._made[key] = made
            while len(self._made) > self.capacity:
                self._made.popitem(last=False)
        return made

    def clear(self) -> None:
        with self._lock:
            self._made.clear()

    def __len__(self) -> int:
        return len(self._made)


REORDERS = ReorderCache()


def reorder_mem(stream: Stream, src: Mem, dst: Mem, add: bool = False,
                now: bool = False) -> None:
    """Copies `src` into `dst` across layouts of equal dims; with `add` it adds.

    With `now` it has run on return, even if the stream defers steps. Padding of `dst` is zero
    afterwards. Bits are preserved, except for float16 and bfloat16, which go through float32: the
    sign of a zero and the kind of a NaN may change. Raises Unsupported if oneDNN has no such
    reorder.
    """
    if src.desc.dims != dst.desc.dims:
        raise Unsupported(f"no reorder between dims {src.desc.dims} and {dst.desc.dims}")
    if dst.desc.nbytes == 0:
        return
    if src.desc.dtype_code == dst.desc.dtype_code == lib.NDRT_S32 and not add:
        # oneDNN converts int32 through float32 and rounds; declared as float32, bits only move
        src, dst = (mem.as_desc(mem.desc.of_dtype(FLOAT32)) for mem in (src, dst))
    if _HALVES.isdisjoint((src.desc.dtype_code, dst.desc.dtype_code)) or not _reorder_halves(
            stream, src, dst, add, now):
        _reorder(stream, src, dst, add, now)


def _reorder(stream: Stream, src: Mem, dst: Mem, add: bool, now: bool) -> None:
    stream.reorder(REORDERS.get(src.desc, dst.desc, add), src, dst, now)


def widen_mem(stream: Stream, src: Mem, dst: Mem, now: bool = False) -> None:
    """Converts 16-bit floats to float32 in the same layout."""
    kind = src.desc.dtype_code
    stream.convert(widen(out=dst, data=src, n=src.desc.nbytes // 2, kind=kind), now)


def narrow_mem(stream: Stream, src: Mem, dst: Mem, now: bool = False) -> None:
    """Rounds float32 to 16-bit floats in the same layout."""
    kind = dst.desc.dtype_code
    stream.convert(narrow(out=dst, data=src, n=dst.desc.nbytes // 2, kind=kind), now)


_HALVES = {lib.NDRT_F16, lib.NDRT_BF16}


def widened(desc: MemDesc) -> MemDesc | None:
    """The same layout for float32; None if there is none, or if elements are not contiguous."""
    if desc.dtype_code == lib.NDRT_F32:
        return desc
    if (desc.dtype_code not in _HALVES or desc.offset0
            or prod(desc.padded_dims) * 2 != desc.nbytes):
        return None
    try:
        return desc.of_dtype(FLOAT32)
    except Unsupported:
        return None


def _reorder_halves(stream: Stream, src: Mem, dst: Mem, add: bool, now: bool) -> bool:
    """A reorder of 16-bit floats through float32, for which oneDNN has fast primitives on every
    CPU; returns False and does nothing if a layout has no float32 equivalent."""
    read, made = widened(src.desc), widened(dst.desc)
    if read is None or made is None:
        return False
    if not add and read.same_as == made.same_as:
        if made is dst.desc:
            widen_mem(stream, src, dst, now)
            return True
        if read is src.desc:
            narrow_mem(stream, src, dst, now)
            return True
        if src.desc.dtype_code == dst.desc.dtype_code:
            row = default_desc(UINT8, (dst.desc.nbytes,))
            _reorder(stream, src.as_desc(row), dst.as_desc(row), False, now)
            return True
    source = src if read is src.desc else stream.scratch(read)
    if source is not src:
        widen_mem(stream, src, source, now)
    target = dst if made is dst.desc else stream.scratch(made)
    if target is not dst and add:
        widen_mem(stream, dst, target, now)
    _reorder(stream, source, target, add, now)
    if target is not dst:
        narrow_mem(stream, target, dst, now)
    return True
