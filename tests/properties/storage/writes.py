"""Rules that write: through outputs and access methods, as users do, and straight to the bytes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import rule

import ndarray_rt as mx
from ndarray_rt._array.access import Access
from ndarray_rt._array.copy import copy_into, write_numpy
from ndarray_rt._array.layout import create_data
from ndarray_rt._array.output import Output
from ndarray_rt._array.req import Req
from ndarray_rt.storage.desc import default_desc
from ndarray_rt.storage.lease import Leases

from .base import LARGEST, Base, choose
from .model import F16, F32, I32, REACHED, Array, Held, all_layouts, places

IN_PLACE = (operator.iadd, operator.isub, operator.imul)
NUMPY = {operator.iadd: np.add, operator.isub: np.subtract, operator.imul: np.multiply}


def is_tame(value: Array) -> bool:
    """Small enough that sums are exact in every dtype here."""
    return not value.size or float(np.abs(value.astype(np.float64)).max()) < LARGEST


class Writes(Base):
    """Each changes one array's contents, and so what all arrays over the same bytes show."""

    # ---- whole arrays ---------------------------------------------------------------------------

    @rule(data=st.data(), way=st.sampled_from(["assign", "number", "full", "numpy", "invalidate"]))
    def write(self, data: st.DataObject, way: str) -> None:
        held = self.pick(data, write=True)
        if held is None:
            return
        x = held.array
        value = self.fresh(x.shape, x.dtype)
        if way in ("number", "full"):
            value = np.full(x.shape, 7, x.dtype)
        actions = {"assign": lambda: x.__setitem__(Ellipsis, value),
                   "number": lambda: x.__setitem__(slice(None) if x.shape else Ellipsis, 7),
                   "full": lambda: mx.nd.full(x.shape, 7, out=x),
                   "numpy": lambda: self._write_numpy(held, value, invalidate=False),
                   "invalidate": lambda: self._write_numpy(held, value, invalidate=True)}
        self.attempt(data, actions[way], (held, value, None))

    def _write_numpy(self, held: Held, value: Array, invalidate: bool) -> None:
        x = held.array
        with Access(written=(x,)) as stream:
            if invalidate and not x.is_view:
                x._invalidate_data()
                assert not x.is_special
            write_numpy(x, value, stream)

    @rule(data=st.data(), way=st.sampled_from(["open", "open_weight_grad", "create"]))
    def write_in_a_layout(self, data: st.DataObject, way: str) -> None:
        """As a primitive does, which has chosen a layout."""
        held = self.pick(data, write=True, where=lambda held: bool(all_layouts(held.array)))
        if held is None:
            return
        x, stream = held.array, self.stream
        value = self.fresh(x.shape, x.dtype)
        desc = data.draw(st.sampled_from(all_layouts(x)), "layout")
        stream.begin_operator()
        may_stay = data.draw(st.booleans(), "trained in layouts")
        x._chunk.is_trained_in_layout = may_stay
        with Leases([], [x._chunk]):
            x._chunk.wrote()
            if way == "create":
                # what it hands out is garbage until it is written: no fault between the two
                mem = create_data(x, desc, stream)
                if mem is None:
                    assert not desc.is_default, "the default layout was refused"
                    assert x.is_view or x._chunk.pins
                    return
                assert mem.desc is desc
                self.fill(mem, value)
                held.wrote(value)
                return
            done = self.attempt(data, lambda: self._open(held, Req.kWriteTo, way, desc, value),
                                (held, value, None))
        if way == "open_weight_grad":
            assert may_stay or not (done and x.is_special), "it is trained in the default layout"

    def _open(self, held: Held, req: Req, way: str, desc: Any, value: Array) -> None:
        with getattr(Output(held.array, req), way)(desc, self.stream) as mem:
            self.fill(mem, value)

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        """kAddTo through a layout of the primitive's choice."""
        held = self.pick(data, write=True, where=lambda held: (
            held.array.dtype == F32 and bool(all_layouts(held.array)) and held.is_known()))
        if held is None or not is_tame(held.value()):
            return
        x = held.array
        value = self.fresh(x.shape, x.dtype)
        desc = data.draw(st.sampled_from(all_layouts(x)), "layout")
        self.stream.begin_operator()
        with Leases([], [x._chunk]):
            x._chunk.wrote()
            self.attempt(data, lambda: self._open(held, Req.kAddTo, "open", desc, value),
                         (held, held.value() + value, None))
        REACHED["added"] += 1

    @rule(data=st.data())
    def null(self, data: st.DataObject) -> None:
        """kNullOp changes nothing (I6), whatever is written to the memory it hands out."""
        held = self.pick(data, where=lambda held: bool(all_layouts(held.array)))
        if held is None:
            return
        held.home.chunk.check_and_alloc()
        desc = data.draw(st.sampled_from(all_layouts(held.array)), "layout")
        state, raw = held.home.state(), bytes(held.home.chunk.handle.buffer())
        self.stream.begin_operator()
        self._open(held, Req.kNullOp, "open", desc,
                   self.fresh(held.array.shape, held.array.dtype))
        assert held.home.state() == state
        assert bytes(held.home.chunk.handle.buffer()) == raw

    @rule(data=st.data())
    def write_through_the_handle(self, data: st.DataObject) -> None:
        """Straight to the bytes, where the layout says that they are."""
        storages = [s for s in self.storages if not s.readers and s.seen() is not None]
        if not storages:
            return
        storage = choose(data, storages, "storage")
        chunk, owner = storage.chunk, storage.held[0]
        value = self.fresh(storage.shape, storage.dtype)
        raw = np.frombuffer(chunk.handle.buffer(), np.uint8)
        desc = chunk.mkl_mem
        if desc is not None and (desc.dtype_name != storage.dtype.name
                                 or not storage.known.any()):
            return
        where = slice(value.size) if desc is None else places(desc)
        cells = raw[:raw.size // value.itemsize * value.itemsize].view(value.dtype)
        cells[where] = value.ravel()
        chunk.wrote()
        owner.wrote(value)

    # ---- as users write -------------------------------------------------------------------------

    @rule(data=st.data(), source=st.sampled_from(["numbers", "array", "another", "number"]))
    def assign_to_a_part(self, data: st.DataObject, source: str) -> None:
        """x[key] = y, also from an array over the same bytes."""
        held = self.pick(data, write=True, where=lambda held: held.array.size > 0)
        if held is None:
            return
        x = held.array
        key = tuple(data.draw(st.one_of(st.slices(dim), st.integers(-dim, dim - 1)), "key")
                    for dim in x.shape[:data.draw(st.integers(0, x.ndim), "axes")])
        value, known = held.value(), held.known()
        shape = value[key].shape
        given: Any = self.fresh(shape, x.dtype)
        new = given
        if source == "number":
            given = new = 3
        elif source == "array":
            given = mx.nd.array(given, dtype=x.dtype)
        elif source == "another":
            other = self.pick(data, "value", where=lambda other: (
                other.array.shape == shape and other.array.dtype == x.dtype and other.is_known()
                and not (other.home.readers and other.home is held.home)))
            if other is None:
                return
            given, new = other.array, other.value()
            REACHED["assigned from the same storage"] += other.home is held.home
        value[key] = new
        known[key] = True
        self.attempt(data, lambda: x.__setitem__(key or Ellipsis, given), (held, value, known))

    @rule(data=st.data(), op=st.sampled_from(IN_PLACE),
          by=st.sampled_from(["number", "another", "overlap"]))
    def in_place(self, data: st.DataObject, op: Any, by: str) -> None:
        """x += y, with a number, or an array, which may overlap x."""
        held = self.pick(data, write=True, where=lambda held: (
            held.is_known() and held.array.dtype in (F32, I32)))
        if held is None:
            return
        x = held.array
        operand: Held | None = held
        if by == "another":
            operand = self.pick(data, "operand", where=lambda other: (
                other.array.shape == x.shape and other.array.dtype == x.dtype
                and other.is_known()))
        elif by == "overlap" and held.array.ndim and held.array.shape[0] > 1:
            # the rows but for the first, by the rows but for the last
            row = held.array.nbytes // held.array.shape[0]
            operand = Held(held.array[:-1], held.home, held.start)
            held = Held(held.array[1:], held.home, held.start + row)
        assert operand is not None
        x = held.array
        with np.errstate(over="ignore"):
            value = NUMPY[op](held.value(),
                              x.dtype.type(3) if by == "number" else operand.value())
        if not (is_tame(value) and is_tame(operand.value()) and is_tame(held.value())):
            return
        self.attempt(data, lambda: op(x, 3 if by == "number" else operand.array),
                     (held, value, None))
        REACHED["in place with an overlap"] += (by != "number" and operand.start != held.start
                                                and operand.overlaps(held))

    # ---- copies ---------------------------------------------------------------------------------

    @rule(data=st.data())
    def copyto(self, data: st.DataObject) -> None:
        """Between any two arrays of one shape, which may overlap, with a cast."""
        target = self.pick(data, "target", write=True)
        if target is None:
            return
        source = self.pick(data, "source", where=lambda source: (
            source.array.shape == target.array.shape and source.array is not target.array
            and source.is_known() and is_tame(source.value())))
        if source is None or (target.array.dtype == F16 and source.value().size
                              and np.abs(source.value()).max() > 2000):
            return
        value = source.value().astype(target.array.dtype)
        self.attempt(data, lambda: source.array.copyto(target.array), (target, value, None))
        REACHED["copied over an overlap"] += source.overlaps(target)

    @rule(data=st.data(), add=st.booleans())
    def copy_into_from_a_layout(self, data: st.DataObject, add: bool) -> None:
        """From an array outside, in any layout; the source stays as it is."""
        target = self.pick(data, write=True, where=lambda held: bool(all_layouts(held.array)))
        if target is None or (add and not (target.is_known() and is_tame(target.value())
                                           and target.array.dtype == F32)):
            return
        x, stream = target.array, self.stream
        value = self.fresh(x.shape, x.dtype)
        source = mx.nd.array(value, dtype=x.dtype)
        desc = data.draw(st.sampled_from(all_layouts(x)), "layout")
        stream.begin_operator()
        with Leases([], [source._chunk]):
            source._chunk.reorder(desc, stream)
        before = source._chunk.mkl_mem
        assert before is (None if desc is default_desc(x.dtype, x.shape) else desc)
        new = target.value() + value if add else value
        with Leases([source._chunk], [x._chunk]):
            x._chunk.wrote()
            self.attempt(data, lambda: copy_into(source, x, stream, add=add), (target, new, None))
        assert source._chunk.mkl_mem is before
        assert np.array_equal(source.asnumpy(), value)
