"""Chunk: the storage that arrays share. Holds no array's shape, offset or view."""

from __future__ import annotations

from typing import Any

from ..dtypes import DType, find_dtype
from ..errors import NdrtError
from ..native import ffi, lib, make
from .desc import MemDesc, default_desc
from .handle import Handle
from .reorder import reorder_mem
from .stream import Mem, Stream

# memory and special layout
Placement = tuple[Handle | None, MemDesc | None]


_writes, _writable_pins = lib.ndrt_chunk_writes_at, lib.ndrt_chunk_writable_pins_at


class PinnedError(NdrtError, BufferError):
    """The bytes are exported and can be neither moved nor converted."""


class Chunk:
    """One Handle, an optional special layout over it, and the state that C can check.

    `mkl_mem` is None while the bytes are in the default layout, else the special layout that they
    are in: always over this Chunk's own Handle, never larger than it (I1). Memory is allocated
    when first needed.

    Native calls create Chunks without `native` and `_handle`, which are then made on first access
    from `_state` and `_bytes`, the native owners of the chunk and of its bytes.

    `is_trained_in_layout` says whether training may leave the contents in a special layout; None
    means that the switch NDRT_TRAINING_LAYOUTS decides. `brought` is how often in a row an
    optimizer has converted it to one, and the write counter at the last time.
    """

    __slots__ = ("__weakref__", "_bytes", "_handle", "_planned", "_state", "address", "brought",
                 "dtype", "is_trained_in_layout", "mkl_mem", "moves", "native", "storage_shape",
                 "zero")

    brought: tuple[int, int]
    is_trained_in_layout: bool | None

    def __init__(self, shape: tuple[int, ...], dtype: DType, handle: Handle | None = None,
                 zero: bool = False) -> None:
        self.native: Any = make(lib.ndrt_chunk_new, out="ndrt_chunk **", free=lib.ndrt_chunk_free,
                                what="making a chunk")
        # pointer to the native chunk, for native calls that take an integer
        self.address = int(ffi.cast("intptr_t", self.native))
        self.storage_shape = shape
        self.dtype = dtype
        self.mkl_mem: MemDesc | None = None
        nbytes = dtype.itemsize
        for dim in shape:
            nbytes *= dim
        self._planned = nbytes
        self._handle = handle
        self._bytes: object = None
        self.zero = zero
        # how often the Handle was replaced
        self.moves = 0
        if handle is not None:
            lib.ndrt_chunk_place(self.native, handle.ptr, 0)

    def __getattr__(self, name: str) -> Any:
        if name == "native":
            self.native = made = make(lib.ndrt_chunk_share, ffi.cast("ndrt_chunk *", self.address),
                                      out="ndrt_chunk **", free=lib.ndrt_chunk_free,
                                      what="sharing a chunk")
            return made
        if name == "_handle":
            desc = self.mkl_mem
            nbytes = self._planned if desc is None else max(self._planned, desc.nbytes)
            # two threads may come here at once: the native owner lives until the Handle is freed
            self._handle = handle = Handle.borrowed(
                int(ffi.cast("intptr_t", self.native.data)), nbytes, self._bytes)
            return handle
        if name == "is_trained_in_layout":
            return None
        if name == "brought":
            return 0, 0
        raise AttributeError(f"a Chunk has no attribute {name!r}")

    # ---- memory -------------------------------------------------------------------------

    @property
    def handle(self) -> Handle:
        """The Handle, allocated now if it was not before."""
        found = self._handle
        return self.check_and_alloc() if found is None else found

    @property
    def is_allocated(self) -> bool:
        return self._handle is not None

    @property
    def nbytes(self) -> int:
        """Bytes of the Handle, or those it will have."""
        return self._planned if self._handle is None else self._handle.nbytes

    def check_and_alloc(self, nbytes: int = 0, soon: bool = False) -> Handle:
        """Allocates or grows to at least `nbytes`; never shrinks.

        Growth loses the contents and the special layout, leaves an arena, and bumps `version`: each
        array on this Chunk sees the new memory. Raises PinnedError when growth would move
        exported bytes.
        """
        handle = self._handle
        if handle is None:
            handle = Handle(max(nbytes, self._planned), self.zero, self.native.account,
                            soon)
            self._place(handle, None)
        elif handle.nbytes < nbytes:
            self._refuse_if_pinned("grown")
            handle = Handle(nbytes, False, self.native.account)
            self._place(handle, None)
        return handle

    def _place(self, handle: Handle | None, special: MemDesc | None) -> None:
        # one native call does all of it, so that an interrupt finds all of it done, or nothing
        if handle is not self._handle:
            self.moves += self._handle is not None
            self._bytes = None
        self._handle = handle
        self.mkl_mem = special
        lib.ndrt_chunk_place(self.native, ffi.NULL if handle is None else handle.ptr,
                             0 if special is None else special.id)

    @property
    def placement(self) -> Placement:
        """Memory and special layout, for `restore`."""
        return self._handle, self.mkl_mem

    def restore(self, placement: Placement) -> None:
        """Puts memory and layout back; only while nothing was written to that memory since."""
        handle, special = placement
        if handle is not self._handle or special is not self.mkl_mem:
            self._place(handle, special)

    def _refuse_if_pinned(self, what: str) -> None:
        if self.native.pins:
            raise PinnedError(f"the memory of this array is exported {self.native.pins} time(s) "
                              f"and can not be {what}: release the exports first")

    # ---- layout -------------------------------------------------------------------------

    @property
    def is_special(self) -> bool:
        return self.mkl_mem is not None

    def set_layout(self, desc: MemDesc) -> None:
        """Declares the bytes to be in `desc`'s layout; moves nothing, so the contents are garbage.

        Grows when the layout needs more than there is.
        """
        if desc.is_default:
            self.invalidate_data()
            self.check_and_alloc(desc.nbytes)
            return
        if self.mkl_mem is desc:
            return
        if self.native.pins:
            self._refuse_if_pinned(f"put into the layout {desc.layout()}")
        handle = self.check_and_alloc(desc.nbytes)
        self._place(handle, desc)

    def invalidate_data(self) -> None:
        """Drops a special layout; no data moves, the bytes are default and garbage."""
        if self.mkl_mem is not None:
            self._place(self._handle, None)

    def reorder(self, desc: MemDesc, stream: Stream, soon: bool = False,
                ) -> None:
        """Converts the contents to `desc` in place; the caller holds the exclusive lease.

        A default chunk is read in the default layout of `desc`'s own dims, so that a 4-D weight
        becomes a 5-D grouped one. Raises PinnedError on exported memory.
        """
        source = self.mkl_mem
        if source is desc or (source is None and desc.is_default):
            return
        if self.native.pins:
            self._refuse_if_pinned(f"converted to {desc.layout()}")
        if source is None:
            # bytes count in the layout's dtype: reused storage has a dtype of its own
            source = default_desc(find_dtype(desc.dtype_name), desc.dims)
        old = self.handle
        # A reorder can not run in place, so it gets a new buffer, which replaces the old one and is
        # not smaller than it: other arrays on this Chunk may be larger.
        new = Handle(max(desc.nbytes, old.nbytes), False, self.native.account, soon)
        reorder_mem(stream, Mem(source, old.ptr, old, stream.epoch),
                    Mem(desc, new.ptr, new, stream.epoch), now=True)
        self._place(new, None if desc.is_default else desc)

    def reorder_to_default(self, stream: Stream) -> None:
        """Converts the contents to the default layout in place; does nothing if they are in it."""
        special = self.mkl_mem
        if special is not None:
            self.reorder(default_desc(find_dtype(special.dtype_name), special.dims), stream)

    # ---- state shared with C --------------------------------------------------------------

    @property
    def version(self) -> int:
        """Bumped whenever pointer or layout change."""
        return int(self.native.version)

    @property
    def writes(self) -> int:
        """Bumped by each write of contents."""
        return int(_writes(self.address))

    @property
    def writable_pins(self) -> int:
        """Live exports through which somebody may write without this package noticing."""
        return int(_writable_pins(self.address))

    @property
    def changes(self) -> int:
        """Bumped by each write and each end of a writable export; packed copies compare it."""
        return int(self.native.writes + self.native.exports)

    @property
    def pins(self) -> int:
        """Exports alive."""
        return int(self.native.pins)

    def wrote(self) -> None:
        """Counts a write; called before the write starts, so that none is missed."""
        lib.ndrt_chunk_add_writes(self.native)

    def pin(self, writable: bool) -> None:
        """An export begins: bytes stay where and as they are (I5)."""
        lib.ndrt_chunk_add_pins(self.native, 1, int(writable))

    def unpin(self, writable: bool) -> None:
        """An export ends; a writable one counts as a possible change from here on."""
        lib.ndrt_chunk_add_pins(self.native, -1, -int(writable))
