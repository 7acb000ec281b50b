"""Rules that read: alone, beside others, through each access method, and too late."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ndarray_rt._array.copy import read_numpy
from ndarray_rt._array.layout import (
    default_numpy,
    get_data,
    get_data_if,
    get_data_reorder,
    get_default,
    get_weights,
)
from ndarray_rt.native import ffi
from ndarray_rt.storage.lease import Leases
from ndarray_rt.storage.reorder import reorder_mem
from ndarray_rt.storage.stream import Mem, StaleMemory, Stream

from .base import Base, choose, must_raise
from .model import REACHED, Array, Held, Reader, all_layouts, places

CLONES = (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.copy())


def is_readable(held: Held) -> bool:
    """Its contents are of this life; garbage may be refused, and proves nothing."""
    return bool(held.known().any())


def has_layouts(held: Held) -> bool:
    return is_readable(held) and bool(all_layouts(held.array))


def contents(mem: Mem, like: Held) -> Array:
    """What memory handed out holds, by its layout."""
    raw = np.frombuffer(ffi.buffer(mem.ptr, mem.desc.nbytes), like.array.dtype)
    made: Array = raw[places(mem.desc)].reshape(like.array.shape)
    return made


class Reads(Base):
    """Change no contents. In place, a lone reader of a view may make the storage default."""

    @rule(data=st.data())
    def asnumpy(self, data: st.DataObject) -> None:
        held = self.pick(data, where=is_readable)
        if held is None:
            return
        before = held.home.chunk.mkl_mem
        seen: list[Array] = []
        if self.attempt(data, lambda: seen.append(held.array.asnumpy())):
            held.compare(seen[0], "asnumpy")
            assert seen[0].flags.owndata
        if not held.array.is_view or held.home.packers:
            assert held.home.chunk.mkl_mem is before, "a reader changed the layout"

    @rule(data=st.data())
    def read_beside_a_reader(self, data: st.DataObject) -> None:
        """Another reader is inside: nothing may move under its hands (I3)."""
        held = self.pick(data, where=is_readable)
        if held is None:
            return
        chunk = held.home.chunk
        chunk.check_and_alloc()
        state = held.home.state()
        self.stream.begin_operator()
        with Leases([chunk], []), Leases([chunk], []):
            held.compare(read_numpy(held.array, self.stream), "read_numpy")
            held.compare(default_numpy(held.array, self.stream), "default_numpy")
            assert held.home.state() == state, "a read disturbed another reader"

    @rule(data=st.data())
    def read_through_access(self, data: st.DataObject) -> None:
        """The access methods agree, in any layout."""
        held = self.pick(data, where=has_layouts)
        if held is None:
            return
        x, stream = held.array, self.stream
        wanted = data.draw(st.sampled_from(all_layouts(x)), "layout")
        stream.begin_operator()
        with Leases([x._chunk], []):
            mems: list[Any] = [get_data(x, stream), get_data_reorder(x, wanted, stream),
                    get_data_if(x, wanted, stream), get_default(x, stream)]
            if wanted.ndims == x.ndim + 1:
                mems.append(get_weights(x, wanted, wanted.dims[0], stream))
            assert mems[1].desc is wanted
            for mem in mems:
                if mem is not None:
                    held.compare(contents(mem, held), f"memory in {mem.desc!r}")
        REACHED["access"] += 1

    @rule(data=st.data())
    def use_memory_too_late(self, data: st.DataObject) -> None:
        """Memory of one operator call is refused in the next (I7)."""
        held = self.pick(data, where=has_layouts)
        if held is None:
            return
        stream = self.stream
        stream.begin_operator()
        with Leases([held.home.chunk], []):
            late = get_data(held.array, stream)
        stream.begin_operator()
        must_raise(StaleMemory, lambda: reorder_mem(stream, late, stream.scratch(late.desc)))
        REACHED["stale memory refused"] += 1

    @rule(data=st.data())
    def begin_reading(self, data: st.DataObject) -> None:
        """Somebody reads for a while: until then there are no writers, and bytes stay."""
        held = self.pick(data, where=lambda held: has_layouts(held) and len(held.home.readers) < 2)
        if held is None or any(s.readers for s in self.storages if s is not held.home):
            return
        stream = Stream()
        stream.begin_operator()
        leases = Leases([held.home.chunk], [])
        leases.__enter__()
        wanted = data.draw(st.sampled_from([None, *all_layouts(held.array)]), "layout")
        mem = (get_data(held.array, stream) if wanted is None
               else get_data_reorder(held.array, wanted, stream))
        seen = bytes(ffi.buffer(mem.ptr, mem.desc.nbytes))
        held.home.readers.append(Reader(leases, stream, mem, seen))
        REACHED["reader inside"] += 1
        REACHED["reader inside a special one"] += held.home.chunk.is_special

    @precondition(lambda self: any(storage.readers for storage in self.storages))
    @rule(data=st.data())
    def end_reading(self, data: st.DataObject) -> None:
        readers = [(s, r) for s in self.storages for r in s.readers]
        storage, reader = choose(data, readers, "reader")
        storage.readers.remove(reader)
        reader.leases.give_back()

    @rule(data=st.data(), clone=st.sampled_from(CLONES))
    def clone(self, data: st.DataObject, clone: object) -> None:
        """copy, deepcopy and pickle: the same contents on memory of their own."""
        held = self.pick(data, where=is_readable)
        if held is None:
            return
        made = clone(held.array)  # type: ignore[operator]
        assert made._chunk is not held.home.chunk
        assert not made.is_view
        held.compare(made.asnumpy(), "a copy")
        if data.draw(st.booleans(), "keep"):
            known = held.known()
            self.add_storage(made).held[0].wrote(held.value(), known)
