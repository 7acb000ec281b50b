"""One storage under random use, against a flat numpy array: the state machine itself.

The model is what a reader of the whole storage would see in row-major order, and which of its
elements are known (memory that grew or began a new life holds garbage). Contents are
compared by reading the bytes where the layout says they are, which disturbs nothing; rules read
through the access methods too.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ndarray_rt.native import ffi
from ndarray_rt.ndarray.copy import copy_into, read_numpy, write_numpy
from ndarray_rt.ndarray.layout import (
    create_data,
    get_data,
    get_data_if,
    get_data_reorder,
    get_weights,
    grouped_dims,
)
from ndarray_rt.ndarray.ndarray import NDArray, new_array
from ndarray_rt.ndarray.output import Output
from ndarray_rt.ndarray.req import Req
from ndarray_rt.storage.chunk import PinnedError
from ndarray_rt.storage.desc import MemDesc, default_desc, tagged_desc
from ndarray_rt.storage.handle import memory_stats
from ndarray_rt.storage.lease import Leases
from ndarray_rt.storage.reorder import reorder_mem
from ndarray_rt.storage.stream import ImmediateStream, Mem
from ndarray_rt.testing.layout_model import assert_padding_zero, offsets, physical

Array = np.ndarray[Any, np.dtype[Any]]
F32 = np.dtype(np.float32)
# what was reached, over all examples of a run
REACHED: Counter[str] = Counter()

SHAPES = [(2, 3, 2, 3), (8, 4, 2, 1), (1, 16, 2, 2), (8, 4, 1, 2), (3, 20, 1, 2), (4, 6), (5,),
          (2, 3, 4)]
TAGS = {4: ("acdb", "aBcd16b", "aBcd8b", "bacd"), 3: ("acb", "aBc8b"), 2: ("ba",), 1: ()}
GROUPED = ((2, "aBCde8c8b"), (2, "abdec"), (4, "acbde"))


@dataclass(repr=False)
class Held:
    """An array under test and the place of its first element in the model."""

    array: NDArray
    start: int

    @property
    def size(self) -> int:
        return self.array.size

    def __repr__(self) -> str:
        # without contents: reading them would convert the storage
        return f"Held({self.array.shape} at {self.start})"


def layouts_for(shape: tuple[int, ...]) -> list[MemDesc]:
    """Special layouts that an array of a shape can be in."""
    found = [tagged_desc(F32, shape, tag) for tag in TAGS.get(len(shape), ())]
    if len(shape) == 4:
        found += [tagged_desc(F32, grouped_dims(shape, g), tag) for g, tag in GROUPED
                  if shape[0] % g == 0]
    return [desc for desc in found if not desc.is_default]


class StorageMachine(RuleBasedStateMachine):
    """Rules are what users, operators and planners do to a storage."""

    def __init__(self) -> None:
        super().__init__()
        self.live_before = memory_stats()["live"]
        self.stream = ImmediateStream()
        self.held: list[Held] = []
        self.pins: list[int] = []
        self.next_value = 1.0

    # ---- model ----------------------------------------------------------------------------

    @initialize(shape=st.sampled_from(SHAPES))
    def begin(self, shape: tuple[int, ...]) -> None:
        array = new_array(shape, F32)
        self.chunk = array.chunk
        self.held = [Held(array, 0)]
        self._new_life(shape, known=False)
        self._note()
        self.do_write(self.held[0])
        self._note()

    def _new_life(self, shape: tuple[int, ...], known: bool) -> None:
        self.shape = shape
        self.model = np.zeros(prod(shape), np.float32)
        self.known = np.full(prod(shape), known)

    def fresh(self, shape: tuple[int, ...]) -> Array:
        """Values that are nowhere else, so that a wrong place shows."""
        size = prod(shape)
        made = np.arange(self.next_value, self.next_value + size, dtype=np.float32)
        self.next_value = (self.next_value + size) % 1e6
        return made.reshape(shape)

    def pick(self, data: st.DataObject) -> Held:
        return data.draw(st.sampled_from(self.held), "array")

    def wrote(self, held: Held, value: Array) -> None:
        self.model[held.start:held.start + held.size] = value.ravel()
        self.known[held.start:held.start + held.size] = True

    def expected(self, held: Held) -> tuple[Array, Array]:
        """(values, known) as the array must show them."""
        part = slice(held.start, held.start + held.size)
        shape = held.array.shape
        return self.model[part].reshape(shape), self.known[part].reshape(shape)

    def compare(self, got: Array, held: Held, what: str) -> None:
        want, known = self.expected(held)
        assert got.shape == want.shape
        assert (got[known] == want[known]).all(), f"{what}: {got.ravel()} is not {want.ravel()}"

    # ---- arrays out of arrays ---------------------------------------------------------------

    @rule(data=st.data())
    def rows(self, data: st.DataObject) -> None:
        held = self.pick(data)
        rows = held.array.shape[0]
        begin = data.draw(st.integers(0, rows), "begin")
        end = data.draw(st.integers(begin, rows), "end")
        row = prod(held.array.shape[1:])
        self._hold(Held(held.array.rows(begin, end), held.start + begin * row))

    @rule(data=st.data())
    def at(self, data: st.DataObject) -> None:
        held = self.pick(data)
        if held.array.shape[0]:
            index = data.draw(st.integers(0, held.array.shape[0] - 1), "index")
            made = held.array.at(index)
            self._hold(Held(made, held.start + index * prod(held.array.shape[1:])))

    @rule(data=st.data(), fewer=st.booleans())
    def reshape(self, data: st.DataObject, fewer: bool) -> None:
        held = self.pick(data)
        size = held.size
        if fewer and size > 1:
            size = data.draw(st.integers(1, size), "size")
        shapes = [(size,), (1, size), (size, 1), SHAPES[0], SHAPES[1], self.chunk.storage_shape]
        shapes += [(d, size // d) for d in (2, 3, 4) if size % d == 0]
        shape = data.draw(st.sampled_from([s for s in shapes if prod(s) <= held.size]), "shape")
        self._hold(Held(held.array.view_as(shape), held.start))

    def _hold(self, held: Held) -> None:
        self.held.append(held)
        if held.array.is_view:
            REACHED["view"] += 1
            if held.array.is_special:
                REACHED["view of special"] += 1
        if len(self.held) > 6:
            self.held.pop(1)

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        if len(self.held) > 1:
            self.held.pop(data.draw(st.integers(1, len(self.held) - 1)))

    @precondition(lambda self: not self.pins)
    @rule(data=st.data())
    def as_array(self, data: st.DataObject) -> None:
        """A new life: earlier arrays are dead, contents garbage until written."""
        owner = data.draw(st.sampled_from([h for h in self.held if not h.array.is_view]))
        shapes = [s for s in (*SHAPES, (7,), (1, 1)) if prod(s) * 4 <= self.chunk.nbytes]
        shape = data.draw(st.sampled_from(shapes or [(1,)]), "shape")
        version = self.chunk.version
        made = owner.array.as_array(shape, F32)
        assert made.reuse
        assert not made.is_view
        assert self.chunk.version == version, "as_array touched the storage"
        self.held = [Held(made, 0)]
        self._new_life(shape, known=False)
        if made.is_special:
            REACHED["stale layout"] += 1
        self.do_write(self.held[0], data.draw(st.sampled_from(["numpy", "open", "create"])), data)
        REACHED["reused"] += 1

    # ---- reading and writing ------------------------------------------------------------------

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        held = self.pick(data)
        self.stream.begin_operator()
        before = self.chunk.mkl_mem
        with Leases([self.chunk], []):
            self.compare(read_numpy(held.array, self.stream), held, "read_numpy")
        if not held.array.is_view:
            assert self.chunk.mkl_mem is before, "reading the whole changed its layout"

    @rule(data=st.data())
    def read_beside_a_reader(self, data: st.DataObject) -> None:
        """Another reader is inside: nothing may move under its hands (I3, L1)."""
        held = self.pick(data)
        self.stream.begin_operator()
        state = self._state()
        with Leases([self.chunk], []), Leases([self.chunk], []):
            self.compare(read_numpy(held.array, self.stream), held, "read_numpy")
            assert self._state() == state, "a read disturbed another reader"

    @rule(data=st.data())
    def read_through_access(self, data: st.DataObject) -> None:
        """get_data, get_data_reorder and get_data_if give the same contents."""
        held = self.pick(data)
        x, stream = held.array, self.stream
        if not x.size or not x.shape:
            return
        stream.begin_operator()
        wanted = data.draw(st.sampled_from([default_desc(F32, x.shape), *layouts_for(x.shape)]))
        with Leases([self.chunk], []):
            mems = [get_data(x, stream), get_data_reorder(x, wanted, stream),
                    get_data_if(x, wanted, stream)]
            if wanted.ndims == x.ndim + 1:
                mems.append(get_weights(x, wanted, wanted.dims[0], stream))
            for mem in mems:
                if mem is not None:
                    raw = np.frombuffer(ffi.buffer(mem.ptr, mem.desc.nbytes), np.float32)
                    seen = raw[offsets(mem.desc)].reshape(x.shape)
                    self.compare(seen, held, f"memory in {mem.desc!r}")
        REACHED["access"] += 1

    @rule(data=st.data(), way=st.sampled_from(["numpy", "open", "create", "invalidate"]))
    def write(self, data: st.DataObject, way: str) -> None:
        self.do_write(self.pick(data), way, data)

    def do_write(self, held: Held, way: str = "numpy", data: st.DataObject | None = None) -> None:
        x, stream = held.array, self.stream
        value = self.fresh(x.shape)
        stream.begin_operator()
        if not x.shape or not x.size:
            way = "numpy"
        with Leases([], [self.chunk]):
            if way == "invalidate" and not x.is_view:
                x.invalidate_data()
                assert self.chunk.mkl_mem is None
            if way in ("numpy", "invalidate") or data is None:
                write_numpy(x, value, stream)
            else:
                desc = data.draw(st.sampled_from([default_desc(F32, x.shape),
                                                  *layouts_for(x.shape)]), "layout")
                if way == "open":
                    with Output(x, Req.kWriteTo).open(desc, stream) as mem:
                        self._fill(mem, value)
                else:
                    mem = create_data(x, desc, stream)
                    if mem is None:
                        assert not desc.is_default, "the default layout was refused"
                        assert x.is_view or self.pins or x.byte_offset
                        return
                    self._fill(mem, value)
            self.chunk.wrote()
        if not x.is_view:
            self._new_whole(held)
        self.wrote(held, value)

    def _new_whole(self, held: Held) -> None:
        """A whole array is written: of what it does not cover nothing is known."""
        covered = np.zeros(self.known.size, bool)
        covered[held.start:held.start + held.size] = True
        self.known &= covered

    def _fill(self, mem: Mem, value: Array) -> None:
        plain = Mem(default_desc(F32, mem.desc.dims), ffi.from_buffer(value), value,
                    self.stream.epoch)
        reorder_mem(self.stream, plain, mem)

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        """kAddTo through a layout of the primitive's choice."""
        held = self.pick(data)
        x, stream = held.array, self.stream
        if not x.shape or not x.size or not self.expected(held)[1].all():
            return
        value = np.ones(x.shape, np.float32)
        stream.begin_operator()
        desc = data.draw(st.sampled_from([default_desc(F32, x.shape), *layouts_for(x.shape)]))
        with Leases([], [self.chunk]), Output(x, Req.kAddTo).open(desc, stream) as mem:
            self._fill(mem, value)
        self.chunk.wrote()
        self.wrote(held, self.expected(held)[0] + value)
        REACHED["added"] += 1

    @rule(data=st.data())
    def null(self, data: st.DataObject) -> None:
        """kNullOp changes nothing (I6)."""
        held = self.pick(data)
        if not held.array.shape or not held.array.size:
            return
        state, raw = self._state(), bytes(self.chunk.handle.buffer())
        self.stream.begin_operator()
        with Output(held.array, Req.kNullOp).open(default_desc(F32, held.array.shape),
                                                  self.stream) as mem:
            self._fill(mem, self.fresh(held.array.shape))
        assert (self._state(), bytes(self.chunk.handle.buffer())) == (state, raw)

    @rule(data=st.data(), add=st.booleans())
    def copy_from_another(self, data: st.DataObject, add: bool) -> None:
        held = self.pick(data)
        x, stream = held.array, self.stream
        if add and not self.expected(held)[1].all():
            return
        value = self.fresh(x.shape)
        other = new_array(x.shape, F32)
        write_numpy(other, value, stream)
        layouts = layouts_for(x.shape) if x.size else []
        if layouts and data.draw(st.booleans(), "from special"):
            other.chunk.reorder(data.draw(st.sampled_from(layouts)), stream)
        stream.begin_operator()
        with Leases([other.chunk], [self.chunk]):
            copy_into(other, x, stream, add=add)
            self.chunk.wrote()
        if add:
            value = self.expected(held)[0] + value
        elif not x.is_view:
            self._new_whole(held)
        self.wrote(held, value)
        assert (read_numpy(other, stream) == (value if not add else read_numpy(other, stream))
                ).all()

    @rule(data=st.data())
    def copy_inside(self, data: st.DataObject) -> None:
        """From one array of the storage into another, which may overlap it."""
        source, target = self.pick(data), self.pick(data)
        if source.array.shape != target.array.shape or not self.expected(source)[1].all():
            return
        value = self.expected(source)[0].copy()
        self.stream.begin_operator()
        with Leases([self.chunk], [self.chunk]):
            copy_into(source.array, target.array, self.stream)
            self.chunk.wrote()
        if not target.array.is_view:
            self._new_whole(target)
        self.wrote(target, value)
        REACHED["copied inside"] += 1

    # ---- layouts ------------------------------------------------------------------------------

    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        """In place, as an operator does to weights it may pack."""
        candidates = layouts_for(self.shape)
        special = self.chunk.mkl_mem
        if special is not None:
            candidates = [d for d in candidates if d.dims == special.dims]
        if not candidates:
            return
        desc = data.draw(st.sampled_from(candidates), "layout")
        self.stream.begin_operator()
        with Leases([], [self.chunk]):
            if self.pins and special is not desc:
                try:
                    self.chunk.reorder(desc, self.stream)
                except PinnedError:
                    REACHED["refused by a pin"] += 1
                    return
                raise AssertionError("exported memory was converted")
            self.chunk.reorder(desc, self.stream)

    @rule()
    def to_default(self) -> None:
        self.stream.begin_operator()
        with Leases([], [self.chunk]):
            self.chunk.reorder_to_default(self.stream)
        assert not self.chunk.is_special

    @precondition(lambda self: not self.pins)
    @rule(more=st.integers(0, 300))
    def grow(self, more: int) -> None:
        """check_and_alloc: enough room moves nothing; growth loses contents, all see the new."""
        self.stream.begin_operator()
        state = self._state()
        nbytes = self.chunk.nbytes + more
        self.chunk.check_and_alloc(nbytes)
        assert self.chunk.nbytes >= nbytes
        if more:
            assert self.chunk.version > state[2]
            assert self.chunk.mkl_mem is None
            self.known[:] = False
            REACHED["grown"] += 1
        else:
            assert self._state() == state

    @precondition(lambda self: len(self.pins) < 2)
    @rule()
    def pin(self) -> None:
        """An export begins, as asnumpy(copy=False) does it."""
        self.stream.begin_operator()
        if not self.pins:
            self.chunk.reorder_to_default(self.stream)
        self.chunk.pin(True)
        self.pins.append(self.chunk.handle.address)
        REACHED["pinned"] += 1

    @precondition(lambda self: self.pins)
    @rule()
    def unpin(self) -> None:
        self.chunk.unpin(True)
        self.pins.pop()

    # ---- invariants -----------------------------------------------------------------------------

    def _state(self) -> tuple[int, MemDesc | None, int]:
        return self.chunk.handle.address, self.chunk.mkl_mem, self.chunk.version

    def _note(self) -> None:
        self.last = self._state()

    @invariant()
    def i1_layout_is_over_the_own_handle(self) -> None:
        desc = self.chunk.mkl_mem
        if desc is not None:
            assert desc.nbytes <= self.chunk.handle.nbytes
            assert not desc.is_default
            assert desc.nelems == prod(self.shape)
            REACHED["special"] += 1
            REACHED["grouped"] += desc.ndims == 5
            REACHED["grouped and padded"] += desc.ndims == 5 and desc.is_padded

    @invariant()
    def i2_padding_is_zero(self) -> None:
        desc = self.chunk.mkl_mem
        if desc is not None and desc.is_padded:
            assert_padding_zero(self.chunk, "storage")
            REACHED["padded"] += 1

    @invariant()
    def i3_every_array_shows_the_model(self) -> None:
        desc = self.chunk.mkl_mem
        if desc is None:
            flat = np.frombuffer(self.chunk.handle.buffer(), np.float32,
                                 self.chunk.handle.nbytes // 4)
        else:
            flat = physical(self.chunk, desc)[offsets(desc)].ravel()
        for held in self.held:
            assert held.array.byte_offset == 4 * held.start
            got = flat[held.start:held.start + held.size].reshape(held.array.shape)
            self.compare(got, held, "bytes")

    @invariant()
    def i4_version_follows_pointer_and_layout(self) -> None:
        state = self._state()
        if state[:2] != self.last[:2]:
            assert state[2] > self.last[2], "pointer or layout changed, version did not"
        self.last = state

    @invariant()
    def i5_exported_bytes_stay(self) -> None:
        assert self.chunk.pins == len(self.pins)
        for address in self.pins:
            assert self.chunk.handle.address == address
            assert self.chunk.mkl_mem is None

    @invariant()
    def leases_are_given_back(self) -> None:
        assert self.chunk.native.lease == 0

    def teardown(self) -> None:
        for _ in self.pins:
            self.chunk.unpin(True)
        self.held = []
        if hasattr(self, "chunk"):
            del self.chunk
        self.stream.tmp.release()
        if sys.exc_info()[0] is None:  # a failure's traceback holds arrays
            if memory_stats()["live"] > self.live_before:
                gc.collect()
            assert memory_stats()["live"] <= self.live_before, "bytes are still live"
