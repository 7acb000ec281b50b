"""Prepacking: weights in the layout that a kernel wants, converted rarely (I3, I11)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial

from .._array.access import Access
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

# makes a packed copy: (stream, destination)
Fill = Callable[[Stream, Mem], None]
# the weight's chunk and offset, what is derived from the weight, and the layout
Key = tuple[int, int, Hashable, int]
Copies = dict[Key, "_Copy"]


class _Copy:
    """One packed copy: its weight, its layout, and the weight's state at packing time.

    Executors of the same weights share it. Each of them packs again when it finds that the weight
    has changed, which cannot happen while one of them runs.
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
        """The weight has not changed since; never true if users can write to it unnoticed."""
        chunk = self.source._chunk
        return (self.version == chunk.version and self.changes == chunk.changes
                and not chunk.native.writable_pins)

    def make(self, stream: Stream) -> None:
        """Packs again, into the same memory."""
        # memory of its own: the copy outlives this operator call, and so do recordings that use it
        aside = stream.aside()
        chunk, self.version = self.source._chunk, -1
        changes = chunk.changes
        # Another executor may have noticed the change first and be reading the copy: it must never
        # see a partly written copy, and writing the same bytes over themselves is harmless.
        handle = Handle(self.desc.nbytes) if self.is_filled else self.handle
        self.fill(aside, Mem(self.desc, handle.ptr, handle, aside.epoch))
        if self.is_filled:
            ffi.memmove(self.handle.ptr, handle.ptr, self.desc.nbytes)
        self.is_filled = True
        # reading the weight may have converted the weight itself to the default layout
        self.version, self.changes = chunk.version, changes

    def mem(self, stream: Stream) -> Mem:
        return Mem(self.desc, self.handle.ptr, self.handle, stream.epoch)


class PackedStore:
    """Packed copies of weights that can not be converted in place.

    Each stores the version and the `changes` of its source and is packed again, in place, when they
    differ. A weight that was converted in place but lost that layout, because somebody wrote to it
    or another layer wants another layout, gets copies from then on: recorded runs then stay valid
    when it is written to again.

    `like` is the store of another executor of the same weights, whose copies are shared. A weight
    that one of the two has converted in place is not converted in place by the other, as that would
    move it while recordings of the first rely on it.
    """

    def __init__(self, like: PackedStore | None = None) -> None:
        self._made: Copies = {}
        # copies of other stores that may be of use to the first run
        self._offered: Copies = {}
        if like is not None:
            offered = {**like._offered, **like._made}
            self._offered = {key: copy for key, copy in offered.items() if copy.is_filled}
        self._converted: set[int] = set() if like is None else like._converted

    def convert(self, w: NDArray, desc: MemDesc, stream: Stream) -> bool:
        """Converts the weight itself to `desc`, if that is allowed and was not done before.

        Not if there is a copy in that layout, which is as good and does not move the weight.
        """
        own = w._chunk.native.id
        copy = _key(w, None, desc)
        if (own in self._converted or copy in self._made or copy in self._offered
                or not pack_weights(w, desc, stream)):
            return False
        self._converted.add(own)
        return True

    def get(self, w: NDArray, desc: MemDesc, stream: Stream) -> Mem:
        """`w` in the layout `desc`, from the store if its copy is up to date."""
        def fill(stream: Stream, kept: Mem) -> None:
            reorder_mem(stream, weights_source(w, desc, stream), kept)
        return self.made(w, None, desc, stream, fill)

    def made(self, w: NDArray, what: Hashable, desc: MemDesc, stream: Stream,
             fill: Fill) -> Mem:
        """What `fill` makes of `w` in the layout `desc`, from the store if it is up to date.

        `what` distinguishes different things made from one array.
        """
        key = _key(w, what, desc)
        found = self._made.get(key) or self._offered.get(key) or _Copy(w, desc, fill)
        if not found.is_true():
            found.make(stream)
        # stored after packing, so that an interrupt leaves no empty copy
        self._made[key] = found
        return found.mem(stream)

    def layouts(self, w: NDArray) -> list[MemDesc]:
        """Layouts of the packed copies of `w`."""
        own = w._chunk.native.id, w._byte_offset
        return [copy.desc for key, copy in self._made.items() if key[:2] == own]

    def refresh(self, stream: Stream) -> None:
        """Packs again what changed."""
        for copy in self._made.values():
            if not copy.is_true():
                copy.make(stream)

    def take_huge_pages(self) -> None:
        """For copies that many future runs will read."""
        for copy in self._made.values():
            copy.handle.take_huge_pages()

    def sources(self) -> list[tuple[Chunk, int]]:
        """For each copy its source's chunk, and the source's `changes` when it was packed."""
        return [(copy.source._chunk, copy.changes) for copy in self._made.values()]

    def has_converted(self, w: NDArray) -> bool:
        """The weight itself was converted, by this store or one that shares its weights."""
        return w._chunk.native.id in self._converted

    def forget_offered(self) -> None:
        """Drops copies of other stores that a whole run did not use."""
        self._offered.clear()

    def clear(self) -> None:
        self._made.clear()
        self._offered.clear()
        self._converted = set()


def _key(w: NDArray, what: Hashable, desc: MemDesc) -> Key:
    # the offset too, as two weights may be parts of one array
    return w._chunk.native.id, w._byte_offset, what, desc.id


def weights_source(w: NDArray, desc: MemDesc, stream: Stream) -> Mem:
    """The weight in the default layout of `desc`'s dims."""
    return get_default(w, stream).as_desc(default_desc(w.dtype, desc.dims))


def keeps_packed(ctx: OpContext, w: NDArray) -> bool:
    """`weights` converts this weight once, not at every call."""
    if isinstance(w, Widened):
        return ctx.packed is not None and ctx.is_constant(w.source)
    if not ctx.is_constant(w):
        return False
    state = w._chunk.native
    in_place = ctx.may_pack(w) and not (w.is_view or state.pins or state.packers)
    return in_place or ctx.packed is not None


def is_kept(ctx: OpContext, w: NDArray, desc: MemDesc) -> bool:
    """Inference finds this weight in `desc`, or converts it once, not at every call."""
    if isinstance(w, Widened):
        return keeps_packed(ctx, w)
    is_so = w._chunk.mkl_mem is desc and not w.is_view and not ctx.mode.is_train
    return is_so or keeps_packed(ctx, w)


def weights(ctx: OpContext, w: NDArray, desc: MemDesc, groups: int = 1) -> Mem:
    """A weight in exactly `desc`, which may also split its last axis into several.

    In training, and for weights that each run computes: its own memory, or scratch. Otherwise it is
    converted once: in place if nobody else uses it and it is not trained, else into a packed copy;
    a Widened weight into a float32 copy.
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


def unpack(packed: PackedStore, weights: Iterable[NDArray]) -> None:
    """Converts weights back that a store converted in place, unless recordings rely on that."""
    for w in weights:
        chunk = w._chunk
        if chunk.mkl_mem is not None and packed.has_converted(w) and not chunk.native.packers:
            with Access(written=(w,)) as stream:
                chunk.reorder_to_default(stream)
