"""Weights in the layout that a primitive wants, converted as rarely as possible (I3, I11)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from .._array.layout import (
    get_data_if,
    get_data_reorder,
    get_default,
    get_weights,
    grouped_dims,
    pack_weights,
)
from .._array.ndarray import NDArray
from .._array.widened import Widened, pack_widened
from ..dtypes import FLOAT32
from ..native import ffi
from ..storage.chunk import Chunk
from ..storage.desc import MemDesc, default_desc
from ..storage.handle import Handle
from ..storage.reorder import reorder_mem
from ..storage.stream import Mem, Stream
from .context import OpContext

# makes a packed copy: (stream, where to)
Fill = Callable[[Stream, Mem], None]
# by the weight's chunk and offset, what it is of the weight, and the layout
Key = tuple[int, int, Hashable, int]
Copies = dict[Key, "_Copy"]


class _Copy:
    """One packed copy: of which weight, in which layout, and how the weight was then.

    Executors of the same weights share it. Each of them makes it anew when it finds that the weight
    changed, which nobody does while one of them runs.
    """

    __slots__ = ("changes", "desc", "fill", "handle", "is_filled", "source", "version")

    def __init__(self, source: NDArray, desc: MemDesc, fill: Fill) -> None:
        self.source = source
        self.fill = fill
        self.desc = desc
        self.handle = Handle(desc.nbytes, soon=True)
        self.version = self.changes = -1
        self.is_filled = False

    def is_true(self) -> bool:
        """Nothing changed since; of what a user may write to at any time nobody knows."""
        chunk = self.source._chunk
        return (self.version == chunk.version and self.changes == chunk.changes
                and not chunk.native.writable_pins)

    def make(self, stream: Stream) -> None:
        """Packs anew, into the same memory."""
        # the copy outlives this operator call, and what is recorded of it
        aside = stream.aside()
        chunk, self.version = self.source._chunk, -1
        changes = chunk.changes
        # another executor may have found the change first and be reading what is there: it must
        # not see the steps of filling, and the same bytes over the same bytes are none
        handle = Handle(self.desc.nbytes) if self.is_filled else self.handle
        self.fill(aside, Mem(self.desc, handle.ptr, handle, aside.epoch))
        if self.is_filled:
            ffi.memmove(self.handle.ptr, handle.ptr, self.desc.nbytes)
        self.is_filled = True
        # reading may have moved the weight itself to the default layout
        self.version, self.changes = chunk.version, changes

    def mem(self, stream: Stream) -> Mem:
        return Mem(self.desc, self.handle.ptr, self.handle, stream.epoch)


class PackedStore:
    """Private packed copies of weights that can not be converted in place.

    Each carries the version and the `changes` of its source and is made again, in place, when they
    moved. A weight that was converted in place and is not in that layout any more, because somebody
    wrote to it or another layer wants another layout, gets copies too from then on: recorded runs
    stay right when it is written to again.

    `like` is the store of another executor of the same weights, whose copies serve here too. What
    one of the two has converted in place the other one does not convert in place again: it would
    take the weight away from under the other's recorded runs.
    """

    def __init__(self, like: PackedStore | None = None) -> None:
        self._made: Copies = {}
        # copies of others that may be of use to the first run
        self._offered: Copies = {}
        if like is not None:
            offered = {**like._offered, **like._made}
            self._offered = {key: copy for key, copy in offered.items() if copy.is_filled}
        self._converted: set[int] = set() if like is None else like._converted

    def convert(self, w: NDArray, desc: MemDesc, stream: Stream) -> bool:
        """Converts the weight itself to `desc`, where that may be and was not done before.

        Not beside a copy in that layout: the weight would move, and the copy is as good.
        """
        own = w._chunk.native.id
        copy = _key(w, None, desc)
        if (own in self._converted or copy in self._made or copy in self._offered
                or not pack_weights(w, desc, stream)):
            return False
        self._converted.add(own)
        return True

    def get(self, w: NDArray, desc: MemDesc, stream: Stream) -> Mem:
        """`w` in the layout `desc`, from the store when it is still true."""
        def fill(stream: Stream, kept: Mem) -> None:
            reorder_mem(stream, weights_source(w, desc, stream), kept)
        return self.made(w, None, desc, stream, fill)

    def made(self, w: NDArray, what: Hashable, desc: MemDesc, stream: Stream,
             fill: Fill) -> Mem:
        """What `fill` makes of `w` in the layout `desc`, from the store when it is still true.

        `what` tells the things that are made of one array apart.
        """
        key = _key(w, what, desc)
        found = self._made.get(key) or self._offered.get(key) or _Copy(w, desc, fill)
        if not found.is_true():
            found.make(stream)
        # behind the making: a copy that an interrupt left empty is none
        self._made[key] = found
        return found.mem(stream)

    def layouts(self, w: NDArray) -> list[MemDesc]:
        """Of the packed copies of `w`."""
        own = w._chunk.native.id, w._byte_offset
        return [copy.desc for key, copy in self._made.items() if key[:2] == own]

    def refresh(self, stream: Stream) -> None:
        """Packs anew what changed."""
        for copy in self._made.values():
            if not copy.is_true():
                copy.make(stream)

    def take_huge_pages(self) -> None:
        """For copies that are read in many runs from now on."""
        for copy in self._made.values():
            copy.handle.take_huge_pages()

    def sources(self) -> list[tuple[Chunk, int]]:
        """(a source's chunk, its `changes` at the time of packing) for each copy."""
        return [(copy.source._chunk, copy.changes) for copy in self._made.values()]

    def forget_offered(self) -> None:
        """Lets go of others' copies that a whole run did not ask for."""
        self._offered.clear()

    def clear(self) -> None:
        self._made.clear()
        self._offered.clear()
        self._converted = set()


def _key(w: NDArray, what: Hashable, desc: MemDesc) -> Key:
    # the offset too: two weights may be parts of one array
    return w._chunk.native.id, w._byte_offset, what, desc.id


def weights_source(w: NDArray, desc: MemDesc, stream: Stream) -> Mem:
    """The weight in the default layout of `desc`'s dims."""
    return get_default(w, stream).as_desc(default_desc(w.dtype, desc.dims))


def keeps_packed(ctx: OpContext, w: NDArray) -> bool:
    """`weights` converts this weight once and not at every call."""
    if isinstance(w, Widened):
        return ctx.packed is not None and ctx.is_constant(w.source)
    if not ctx.is_constant(w):
        return False
    state = w._chunk.native
    in_place = ctx.may_pack(w) and not (w.is_view or state.pins or state.packers)
    return in_place or ctx.packed is not None


def is_kept(ctx: OpContext, w: NDArray, desc: MemDesc) -> bool:
    """Inference finds this weight in `desc`, or converts it once and not at every call."""
    if isinstance(w, Widened):
        return keeps_packed(ctx, w)
    is_so = w._chunk.mkl_mem is desc and not w.is_view and not ctx.mode.is_train
    return is_so or keeps_packed(ctx, w)


def weights(ctx: OpContext, w: NDArray, desc: MemDesc, groups: int = 1) -> Mem:
    """A weight in exactly `desc`, which may also split its last axis into several.

    Training, and weights that are computed in each run: its own memory, or scratch. Else converted
    once, in place when nobody else holds it and it is not trained, or into a private copy; of a
    Widened into a float32 copy.
    """
    if isinstance(w, Widened) and ctx.packed is not None and ctx.is_constant(w.source):
        source = w.source
        return ctx.packed.made(source, FLOAT32.name, desc, ctx.stream,
                               partial(pack_widened, source))
    found = get_data_if(w, desc, ctx.stream)
    if found is not None:
        return found
    if ctx.is_constant(w):
        convert = pack_weights if ctx.packed is None else ctx.packed.convert
        if ctx.may_pack(w) and convert(w, desc, ctx.stream):
            found = get_data_if(w, desc, ctx.stream)
            if found is not None:
                return found
        if ctx.packed is not None:
            return ctx.packed.get(w, desc, ctx.stream)
    if desc.dims != grouped_dims(w.shape, groups) and desc.dims[0] == w.shape[0]:
        return get_data_reorder(w, desc, ctx.stream)
    return get_weights(w, desc, groups, ctx.stream)
