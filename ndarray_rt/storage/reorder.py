"""Reorder primitives between two layouts, cached. Holds no data."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..dtypes import FLOAT32
from ..errors import Unsupported
from ..fork import renew_in_child
from ..native import lib
from .desc import MemDesc
from .primitive import Kind, Primitive, make_primitive
from .stream import ImmediateStream, Mem

CAPACITY = 256


class ReorderCache:
    """Layout pair -> primitive; bounded, the least recently used leaves. Thread-safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[int, int, bool, int], Primitive] = OrderedDict()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.Lock()

    def get(self, src: MemDesc, dst: MemDesc, add: bool = False) -> Primitive:
        """The reorder from `src` to `dst`; with `add` it adds to what is there."""
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


def reorder_mem(stream: ImmediateStream, src: Mem, dst: Mem, add: bool = False,
                now: bool = False) -> None:
    """Copies `src` into `dst` across layouts of equal dims; with `add` it adds.

    With `now` it is done on return, even where the stream holds steps back. Padding of `dst` is
    zero afterwards. Bits stay as they are, but for float16 and bfloat16, which oneDNN may carry
    through float32: the sign of a zero and the kind of a NaN may change. Raises Unsupported when
    oneDNN can not.
    """
    if src.desc.dims != dst.desc.dims:
        raise Unsupported(f"no reorder between dims {src.desc.dims} and {dst.desc.dims}")
    if dst.desc.nbytes == 0:
        return
    if src.desc.dtype_code == dst.desc.dtype_code == lib.NDRT_S32 and not add:
        # oneDNN carries int32 through float32 and rounds; as float32 the bits are only moved
        src, dst = (mem.as_desc(mem.desc.of_dtype(FLOAT32)) for mem in (src, dst))
    stream.reorder(REORDERS.get(src.desc, dst.desc, add), src, dst, now)
