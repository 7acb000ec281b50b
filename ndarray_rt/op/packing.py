"""Weights in the layout that a primitive wants, converted as rarely as possible (I3, I11)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ..ndarray.layout import (
    get_data_if,
    get_data_reorder,
    get_default,
    get_weights,
    grouped_dims,
    pack_weights,
)
from ..ndarray.ndarray import NDArray
from ..storage.desc import MemDesc, default_desc
from ..storage.handle import Handle
from ..storage.reorder import reorder_mem
from ..storage.stream import ImmediateStream, Mem
from .context import OpContext


class PackedStore:
    """Private packed copies of weights that can not be converted in place.

    Each carries the version and the `changes` of its source and is made again when they moved.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int, Hashable, int], tuple[int, int, Handle]] = {}

    def get(self, w: NDArray, desc: MemDesc, stream: ImmediateStream) -> Mem:
        """`w` in the layout `desc`, from the store when it is still true."""
        return self.made(w, None, desc, stream, lambda kept: reorder_mem(
            stream, weights_source(w, desc, stream), kept))

    def made(self, w: NDArray, what: Hashable, desc: MemDesc, stream: ImmediateStream,
             fill: Callable[[Mem], None]) -> Mem:
        """What `fill` makes of `w` in the layout `desc`, from the store when it is still true.

        `what` tells the things that are made of one array apart.
        """
        state = w.chunk.native
        # the offset too: two weights may be parts of one array
        key = (state.id, w.byte_offset, what, desc.id)
        found = self._made.get(key)
        changes = w.chunk.changes
        if (found is not None and found[0] == state.version and found[1] == changes
                and not state.writable_pins):
            return Mem(desc, found[2].ptr, found[2], stream.epoch)
        stream.flush()  # the copy outlives this operator call: it must be there when it is kept
        handle = Handle(desc.nbytes)
        kept = Mem(desc, handle.ptr, handle, stream.epoch)
        fill(kept)
        self._made[key] = (state.version, changes, handle)
        return kept

    def sources(self) -> list[tuple[int, int]]:
        """(id of a source's chunk, its `changes` at the time of packing) for each copy."""
        return [(chunk_id, changes) for (chunk_id, *_), (_, changes, _) in self._made.items()]

    def clear(self) -> None:
        self._made.clear()


def weights_source(w: NDArray, desc: MemDesc, stream: ImmediateStream) -> Mem:
    """The weight in the default layout of `desc`'s dims."""
    return get_default(w, stream).as_desc(default_desc(w.dtype, desc.dims))


def keeps_packed(ctx: OpContext, w: NDArray) -> bool:
    """`weights` converts this weight once and not at every call."""
    if ctx.is_train or w.grad_state is not None:
        return False
    state = w.chunk.native
    in_place = ctx.may_pack(w) and not (w.is_view or state.pins or state.packers)
    return in_place or ctx.packed is not None


def weights(ctx: OpContext, w: NDArray, desc: MemDesc, groups: int = 1) -> Mem:
    """A weight in exactly `desc`, which may also split its last axis into several.

    Training: its own memory, or scratch. Inference: converted once, in place when nobody else holds
    it and it is not trained, else into a private copy.
    """
    found = get_data_if(w, desc, ctx.stream)
    if found is not None:
        return found
    if not ctx.is_train and w.grad_state is None:
        if ctx.may_pack(w) and pack_weights(w, desc, ctx.stream):
            found = get_data_if(w, desc, ctx.stream)
            if found is not None:
                return found
        if ctx.packed is not None:
            return ctx.packed.get(w, desc, ctx.stream)
    if desc.dims != grouped_dims(w.shape, groups) and desc.dims[0] == w.shape[0]:
        return get_data_reorder(w, desc, ctx.stream)
    return get_weights(w, desc, groups, ctx.stream)
