"""Rules that change layout or memory: conversions, growth, packed weights, living plans."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ndarray_rt.op.context import Mode
from ndarray_rt.op.packing import weights
from ndarray_rt.storage.chunk import PinnedError
from ndarray_rt.storage.lease import Leases, Packed

from .base import Base, must_raise
from .model import F32, REACHED, TAGS, Held, special_layouts
from .reads import contents, is_readable


def of_this_life(held: Held) -> bool:
    """The owner, with contents."""
    return held is held.home.held[0] and is_readable(held)


class Layouts(Base):
    """Change no contents, but for growth, which loses them."""

    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        """In place, as an operator does to weights it may pack."""
        held = self.pick(data, write=True, where=of_this_life)
        if held is None:
            return
        chunk = held.home.chunk
        found = [desc for desc in special_layouts(held.home.shape, held.home.dtype)
                 if chunk.mkl_mem is None or desc.dims == chunk.mkl_mem.dims]
        if not found:
            return
        desc = data.draw(st.sampled_from(found), "layout")
        self.stream.begin_operator()
        with Leases([], [chunk]):
            if chunk.pins:
                must_raise(PinnedError, lambda: chunk.reorder(desc, self.stream))
                REACHED["refused by a pin"] += 1
            elif self.attempt(data, lambda: chunk.reorder(desc, self.stream)):
                assert chunk.mkl_mem is desc

    @rule(data=st.data())
    def reorder_as_users_do(self, data: st.DataObject) -> None:
        held = self.pick(data, write=True, where=lambda held: (
            of_this_life(held) and held.array.dtype == F32 and held.array.ndim in (3, 4, 5)
            and held.array.size > 0))
        if held is None:
            return
        x = held.array
        tag = data.draw(st.sampled_from([None, *TAGS[x.ndim]]), "tag")
        if x._chunk.pins and x.to_mkldnn(tag).is_special:
            must_raise(PinnedError, lambda: x.reorder(tag))
            return
        self.attempt(data, lambda: x.reorder(tag))

    @rule(data=st.data(), public=st.booleans())
    def to_default(self, data: st.DataObject, public: bool) -> None:
        held = self.pick(data, write=True)
        if held is None:
            return
        chunk = held.home.chunk
        self.stream.begin_operator()
        if public:
            done = self.attempt(data, held.array.reorder_to_default)
        else:
            with Leases([], [chunk]):
                done = self.attempt(data, lambda: chunk.reorder_to_default(self.stream))
        assert not (done and chunk.is_special)

    @rule(data=st.data())
    def to_mkldnn_and_back(self, data: st.DataObject) -> None:
        """Copies in another layout; the array keeps its own."""
        held = self.pick(data, where=lambda held: (
            is_readable(held) and held.array.dtype == F32 and held.array.ndim in (3, 4, 5)
            and held.array.size > 0))
        if held is None:
            return
        tag = data.draw(st.sampled_from([None, *TAGS[held.array.ndim]]), "tag")
        before = held.home.chunk.mkl_mem
        made = held.array.to_mkldnn(tag)
        if made is held.array:
            return
        assert made._chunk is not held.home.chunk
        held.compare(made.asnumpy(), "to_mkldnn")
        held.compare(made.to_dense().asnumpy(), "to_mkldnn, to_dense")
        assert not made.to_dense().is_special
        if not held.array.is_view:
            assert held.home.chunk.mkl_mem is before
        if data.draw(st.booleans(), "keep"):
            self.add_storage(made).held[0].wrote(held.value(), held.known())

    @rule(data=st.data(), more=st.integers(0, 300))
    def grow(self, data: st.DataObject, more: int) -> None:
        """Enough room moves nothing; growth loses contents, and all arrays see the new memory."""
        held = self.pick(data, write=True)
        if held is None:
            return
        home, chunk = held.home, held.home.chunk
        chunk.check_and_alloc()
        state, nbytes = home.state(), chunk.nbytes + more
        if not more:
            chunk.check_and_alloc(nbytes)
            assert home.state() == state
            return
        if chunk.pins:
            must_raise(PinnedError, lambda: held.array._check_and_alloc(nbytes))
            assert home.state() == state
            return
        if not self.attempt(data, lambda: held.array._check_and_alloc(nbytes)):
            return
        assert chunk.handle.nbytes >= nbytes
        assert chunk.version > state[2]
        assert chunk.mkl_mem is None
        home.known[:] = False
        REACHED["grown"] += 1

    # ---- packed weights -------------------------------------------------------------------------

    @rule(data=st.data(), train=st.booleans())
    def weights(self, data: st.DataObject, train: bool) -> None:
        """A weight in a primitive's layout: in place, packed, or in scratch; never stale (I11)."""
        held = self.pick(data, where=lambda held: held.is_known() and bool(
            special_layouts(held.array.shape, held.array.dtype)))
        if held is None:
            return
        x, home = held.array, held.home
        desc = data.draw(st.sampled_from(special_layouts(x.shape, x.dtype)), "layout")
        before, busy = home.chunk.mkl_mem, bool(home.readers or home.packers or home.exports)
        groups = desc.dims[0] if desc.ndims > x.ndim else 1
        self.ctx.begin(None, [x], Mode(train))
        with Leases([home.chunk], []):
            mem = weights(self.ctx, x, desc, groups)
            held.compare(contents(mem, held), "weights")
        if train and not x.is_view:
            assert home.chunk.mkl_mem is before, "training converted a weight"
        if busy:
            assert home.chunk.mkl_mem is before, "a weight was converted under somebody's hands"
        assert self.ctx.packed is not None
        REACHED["packed copies"] += len(self.ctx.packed.sources()) > 0

    @rule(data=st.data())
    def a_plan_begins(self, data: st.DataObject) -> None:
        """While a plan lives that relies on a special layout, readers do not convert it."""
        held = self.pick(data, where=lambda held: (
            held.home.chunk.is_special and of_this_life(held) and not held.home.packers))
        if held is not None:
            held.home.packers.append(Packed([held.home.chunk]))
            REACHED["packed by a plan"] += 1

    @precondition(lambda self: any(storage.packers for storage in self.storages))
    @rule()
    def a_plan_ends(self) -> None:
        for storage in self.storages:
            storage.give_back_packers()
