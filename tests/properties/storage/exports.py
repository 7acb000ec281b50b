"""Rules of exports: zero-copy buffers out of arrays, written and read from both sides (I5)."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ndarray_rt._array.interop import ShareError, export

from .base import Base, choose, must_raise
from .model import REACHED, Array, Export, Held


def as_memoryview(held: Held) -> Array:
    if sys.version_info >= (3, 12):
        return np.asarray(memoryview(held.array))
    return np.asarray(held.array.__buffer__(0))


WAYS: dict[str, tuple[Callable[[Held], Array], bool]] = {
    "array": (lambda held: held.array.__array__(copy=False), True),
    "read-only": (lambda held: export(held.array, writable=False), False),
    "memoryview": (as_memoryview, True)}


class Exports(Base):
    """What is handed out keeps its bytes, and both sides see each other's writes."""

    @rule(data=st.data(), way=st.sampled_from(sorted(WAYS)))
    def export(self, data: st.DataObject, way: str) -> None:
        held = self.pick(data, where=lambda held: len(held.home.exports) < 2 and not (
            # who converts needs the storage for itself
            held.home.readers and held.home.chunk.is_special))
        if held is None or (way == "memoryview" and 0 in held.array.shape):
            return
        take, writable = WAYS[way]
        chunk = held.home.chunk
        if chunk.is_special and held.home.packers:
            must_raise(ShareError, lambda: take(held))
            REACHED["export refused"] += 1
            return
        if chunk.is_special and not held.home.known.any():
            return  # of an earlier life
        was_special = chunk.is_special
        made: list[Array] = []
        if not self.attempt(data, lambda: made.append(take(held))):
            return
        buffer = made.pop()
        assert buffer.flags.writeable == writable
        if buffer.size:
            assert buffer.__array_interface__["data"][0] == chunk.handle.address + held.start
        held.home.exports.append(Export(buffer, held, chunk.handle.address, writable))
        REACHED["pinned"] += 1
        REACHED["pinned out of a special layout"] += was_special

    @precondition(lambda self: any(storage.exports for storage in self.storages))
    @rule(data=st.data())
    def write_through_an_export(self, data: st.DataObject) -> None:
        found = [e for s in self.storages if not s.readers for e in s.exports if e.writable]
        if not found:
            return
        chosen = choose(data, found, "export")
        value = self.fresh(chosen.held.array.shape, chosen.held.array.dtype)
        chosen.buffer[...] = value
        chosen.held.wrote(value)
        REACHED["written through an export"] += 1

    @precondition(lambda self: any(storage.exports for storage in self.storages))
    @rule(data=st.data())
    def release_an_export(self, data: st.DataObject) -> None:
        found = [e for s in self.storages for e in s.exports]
        chosen = choose(data, found, "export")
        home = chosen.held.home
        home.exports.remove(chosen)
        changes, pins = home.chunk.changes, home.chunk.pins
        del chosen.buffer
        assert home.chunk.pins == pins - 1, "an export did not let go"
        # nobody saw whether it wrote (I11)
        assert home.chunk.changes == changes + chosen.writable
