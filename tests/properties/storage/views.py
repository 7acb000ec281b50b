"""Rules that make arrays out of arrays: slices, rows, reshapes, new lives; and drop them."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

import ndarray_rt as mx
from ndarray_rt._array.ndarray import new_array
from ndarray_rt.errors import ShapeError

from .base import Base, must_raise
from .model import DTYPES, F16, F32, I32, REACHED, SHAPES, Held

# bytes that no storage of the machine has
TOO_MANY = 1 << 16


class Views(Base):
    """Touch no data: the storage's state is the same afterwards."""

    @rule(data=st.data(), way=st.sampled_from(["rows", "slice"]))
    def slice(self, data: st.DataObject, way: str) -> None:
        held = self.pick(data, where=lambda held: bool(held.array.shape))
        if held is None:
            return
        x, state = held.array, held.home.state()
        begin = data.draw(st.integers(0, x.shape[0]), "begin")
        end = data.draw(st.integers(begin, x.shape[0]), "end")
        row = prod(x.shape[1:]) * x.dtype.itemsize
        made = x._rows(begin, end) if way == "rows" else x[begin:end]
        assert made.shape == (end - begin, *x.shape[1:])
        assert held.home.state() == state, "a slice touched the storage"
        self.hold(Held(made, held.home, held.start + begin * row))

    @rule(data=st.data(), way=st.sampled_from(["at", "index"]))
    def at(self, data: st.DataObject, way: str) -> None:
        held = self.pick(data, where=lambda held: bool(held.array.shape and held.array.shape[0]))
        if held is None:
            return
        x, state = held.array, held.home.state()
        index = data.draw(st.integers(0, x.shape[0] - 1), "index")
        row = prod(x.shape[1:]) * x.dtype.itemsize
        made = x._at(index) if way == "at" else x[index]
        assert made.shape == (x.shape[1:] or (1,))
        assert held.home.state() == state, "a row touched the storage"
        self.hold(Held(made, held.home, held.start + index * row))

    @rule(data=st.data(), way=st.sampled_from(["view_as", "fewer", "reshape"]))
    def reshape(self, data: st.DataObject, way: str) -> None:
        held = self.pick(data)
        if held is None:
            return
        x, state = held.array, held.home.state()
        size = x.size
        if way == "fewer" and size > 1:
            size = data.draw(st.integers(1, size), "size")
        shapes = [(size,), (1, size), (size, 1), held.home.chunk.storage_shape, *SHAPES]
        shapes += [(d, size // d) for d in (2, 3, 4) if size % d == 0]
        shapes = [s for s in shapes if prod(s) == size or (way == "fewer" and prod(s) <= size)]
        if way == "reshape":  # where 0 stands for the dimension that was there
            shapes = [s for s in shapes if 0 not in s and s]
        if not shapes:
            return
        shape = data.draw(st.sampled_from(shapes), "shape")
        made = x.reshape(shape) if way == "reshape" else x._view_as(shape)
        assert made.shape == shape
        assert held.home.state() == state, "a reshape touched the storage"
        self.hold(Held(made, held.home, held.start))

    @rule(data=st.data())
    def slice_of_reshape_of_slice(self, data: st.DataObject) -> None:
        held = self.pick(data, where=lambda held: held.array.size >= 4 and held.array.ndim > 1)
        if held is None:
            return
        x = held.array
        first = data.draw(st.integers(0, x.shape[0] - 1), "first row")
        part = x[first:]
        cut = data.draw(st.integers(0, part.size - 1), "first element")
        made = part.reshape((-1,))[cut:]
        start = held.start + (first * prod(x.shape[1:]) + cut) * x.dtype.itemsize
        self.hold(Held(made, held.home, start))

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        held = self.pick(data, where=lambda held: held is not held.home.held[0])
        if held is not None:
            held.home.held.remove(held)

    @rule(shape=st.sampled_from(SHAPES), dtype=st.sampled_from(DTYPES), zero=st.booleans())
    def new_storage(self, shape: tuple[int, ...], dtype: Any, zero: bool) -> None:
        """Another array, whose memory comes with its first use."""
        made = mx.nd.zeros(shape, dtype=dtype) if zero else new_array(shape, dtype)
        assert not made._chunk.is_allocated
        self.add_storage(made, known=zero)

    @rule(data=st.data(), dtype=st.sampled_from([F32, I32, F16]))
    def as_array(self, data: st.DataObject, dtype: Any) -> None:
        """A new life, of any dtype: earlier arrays are dead, contents garbage until written."""
        held = self.pick(data, write=True, where=lambda held: not (
            held.array.is_view or held.home.exports or held.home.packers))
        if held is None:
            return
        home, state = held.home, held.home.state()
        shapes = [s for s in (*SHAPES, (7,), (40,), (170,))
                  if prod(s) * dtype.itemsize <= home.chunk.nbytes]
        # all that there is, also what the padding of a layout had needed
        shapes += [(home.chunk.nbytes // dtype.itemsize,)] * 4
        shape = data.draw(st.sampled_from(shapes), "shape")
        made = held.array._as_array(shape, dtype)
        assert made._reuse
        assert not made.is_view
        assert home.state() == state, "as_array touched the storage"
        REACHED["reused, larger"] += made.nbytes > home.data.size
        REACHED["reused, smaller"] += made.nbytes < home.data.size
        REACHED["reused, other dtype"] += dtype != home.dtype
        REACHED["stale layout"] += made.is_special
        home.begin_life(made)

    @rule(data=st.data(), view=st.booleans())
    def as_array_refused(self, data: st.DataObject, view: bool) -> None:
        """Memory of a view, or more than there is."""
        held = self.pick(data, where=lambda held: held.array.is_view == view)
        if held is None:
            return
        state = held.home.state()
        must_raise(ShapeError, lambda: held.array._as_array((1,) if view else (TOO_MANY,), F32))
        assert held.home.state() == state
        REACHED["as_array refused"] += 1
