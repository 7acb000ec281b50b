"""NDArray: a shape and dtype over a shared Chunk. Holds no bytes and does no arithmetic.

Methods that compute are installed from the operators when the package loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..context import Context, current_context
from ..dtypes import FLOAT32, DType
from ..errors import NoShape, ShapeError, TypeMismatch
from ..np_shape import is_np_shape
from ..storage.chunk import Chunk
from .surface import Surface

MAX_DIMS = 12


def has_arrays(shape: Sequence[int]) -> bool:
    """Whether an array can have this shape, even without elements: offsets are 64 bits."""
    most: int = prod(dim for dim in shape if dim)
    return most < 1 << 58


# most elements: their bytes can be counted in 64 bits for every dtype
MAX_SIZE = 1 << 46


class NDArray(Surface):
    """An array on a Chunk, which it may share with others (views, reused memory).

    `reuse` marks an array made by `_as_array` on memory of an earlier life, which may still have
    that life's layout. `is_part` marks arrays derived from such an array: they are views, even if
    their shape equals the one that the Chunk was made for.
    """

    __slots__ = (
        "__weakref__",
        "_byte_offset",
        "_chunk",
        "_ctx",
        "_dtype",
        "_entry",
        "_grad_state",
        "_is_part",
        "_reuse",
        "_shape",
    )

    # lets libraries that know NumPy's older protocol leave `theirs + ours` to this class
    __array_priority__ = 1000.0

    _chunk: Chunk
    _shape: tuple[int, ...]
    _dtype: DType
    _byte_offset: int
    _reuse: bool
    _is_part: bool
    _ctx: Context
    _entry: Any  # for the tape: the recorded node and output that this array is
    _grad_state: Any  # for the tape: gradient array and its request

    def __init__(self, chunk: Chunk | None, shape: tuple[int, ...] = (0,), dtype: DType = FLOAT32,
                 byte_offset: int = 0, reuse: bool = False, ctx: Context | None = None) -> None:
        if len(shape) > MAX_DIMS:
            raise ShapeError(f"shape {shape} has rank {len(shape)}, expected at most {MAX_DIMS}")
        if chunk is None:  # MXNet's pickles construct an array so, then call `__setstate__`
            chunk = Chunk(shape, dtype)
        self._chunk = chunk
        self._shape = shape
        self._dtype = dtype
        self._byte_offset = byte_offset
        self._reuse = reuse
        self._is_part = False
        self._ctx = ctx or current_context()
        self._entry = None
        self._grad_state = None

    # ---- facts ----------------------------------------------------------------------------

    if TYPE_CHECKING:
        @property
        def shape(self) -> tuple[int, ...]:
            """The dimensions."""

        @property
        def dtype(self) -> DType:
            """The dtype, one of NumPy's."""

        @property
        def ctx(self) -> Context:
            """The device this array is on."""
    else:
        # an attribute getter written in C, as this property is read most often
        shape = property(attrgetter("_shape"), doc="The dimensions.")
        dtype = property(attrgetter("_dtype"), doc="The dtype, one of NumPy's.")
        ctx = property(attrgetter("_ctx"), doc="The device this array is on.")

    @property
    def context(self) -> Context:
        """The device this array is on."""
        return self.ctx

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding."""
        return self.size * self.dtype.itemsize

    @property
    def stype(self) -> str:
        """The storage type: always 'default' (dense)."""
        return "default"

    @property
    def is_view(self) -> bool:
        """A part of the Chunk, or of another shape than it was made for; sees only the default
        layout."""
        return not self._reuse and (self._byte_offset > 0 or self._is_part
                                   or self.shape != self._chunk.storage_shape)

    @property
    def is_special(self) -> bool:
        """The Chunk has a layout that only native code can read."""
        return self._chunk.mkl_mem is not None

    @property
    def is_mkldnn(self) -> bool:
        """PyTorch's name for `is_special`."""
        return self._chunk.mkl_mem is not None

    @property
    def layout(self) -> str:
        """The layout of the Chunk: 'default', or oneDNN's name such as 'nhwc' or 'nChw16c'."""
        desc = self._chunk.mkl_mem
        if desc is None:
            return "default"
        return desc.layout(groups=len(desc.dims) > len(self.shape))

    def _invalidate_data(self) -> None:
        """Drops a special layout; no data moves. Only for arrays about to be overwritten whole."""
        self._chunk.invalidate_data()

    # ---- arrays that share memory -----------------------------------------------------------

    def _part(self, shape: tuple[int, ...], byte_offset: int) -> NDArray:
        """A view starting at `byte_offset` of the Chunk; the caller has checked that it fits."""
        made = NDArray(self._chunk, shape, self.dtype, byte_offset, False, self.ctx)
        made._is_part = self._reuse or self._is_part
        return made

    def _rows(self, begin: int, end: int) -> NDArray:
        """Rows [begin, end) of axis 0 as a view (MXNet's Slice in C++)."""
        if not self.shape:
            raise ShapeError("rows: an array of rank 0 has no axis 0")
        if not 0 <= begin <= end <= self.shape[0]:
            raise ShapeError(f"rows: [{begin}, {end}) is not within [0, {self.shape[0]}) "
                             f"of shape {self.shape}")
        row = prod(self.shape[1:]) * self.dtype.itemsize
        return self._part((end - begin, *self.shape[1:]), self._byte_offset + begin * row)

    def _at(self, index: int) -> NDArray:
        """Row `index` of axis 0 as a view of rank one less; rank 1 gives shape (1,) (C++ At).

        Under np_shape it gives shape ().
        """
        row = self._rows(index, index + 1)
        if len(self.shape) > 1 or is_np_shape():
            row._shape = self.shape[1:]
        return row

    def _view_as(self, shape: tuple[int, ...]) -> NDArray:
        """The same elements, or the first of them, with another shape, as a view."""
        if shape == self.shape:
            return self.detach()
        if prod(shape) > self.size:
            raise ShapeError(f"reshape: shape {shape} has {prod(shape)} elements, "
                             f"more than the {self.size} of {self.shape}")
        return self._part(shape, self._byte_offset)

    def _as_array(self, shape: tuple[int, ...], dtype: DType) -> NDArray:
        """Reuses this memory for a new shape and dtype; contents are garbage, `reuse` is set.

        Raises ShapeError if the array is a view or too small.
        """
        if self.is_view:
            raise ShapeError("as_array: memory of a view can not be reused")
        nbytes = prod(shape) * dtype.itemsize
        if nbytes > self._chunk.nbytes:
            raise ShapeError(f"as_array: shape {shape} of {dtype} needs {nbytes} bytes, "
                             f"the memory has {self._chunk.nbytes}")
        return NDArray(self._chunk, shape, dtype, 0, True, self.ctx)

    def detach(self) -> NDArray:
        """The same memory without history on the tape."""
        made = NDArray(self._chunk, self.shape, self.dtype, self._byte_offset, self._reuse,
                       self.ctx)
        made._is_part = self._is_part
        return made

    def _check_and_alloc(self, nbytes: int = 0) -> None:
        """Allocates the memory, at least `nbytes`."""
        self._chunk.check_and_alloc(nbytes)

    # ---- python ---------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.shape:
            raise TypeMismatch("len() of an array of rank 0")
        return self.shape[0]

    def __hash__(self) -> int:
        return id(self)


def new_array(shape: tuple[int, ...], dtype: DType, ctx: Context | None = None,
              zero: bool = False) -> NDArray:
    """An array on a Chunk of its own; memory is allocated on first use, zeroed if asked."""
    if ctx is None:
        ctx = current_context()
    elif not isinstance(ctx, Context):
        raise TypeMismatch(f"ctx got {ctx!r}, expected a Context such as mx.cpu()")
    ctx.check()
    return NDArray(Chunk(shape, dtype, zero=zero), shape, dtype, 0, False, ctx)


def check_shape(shape: object, what: str) -> tuple[int, ...]:
    """A shape given by a user as a tuple of ints; ShapeError if an array can not have it."""
    if isinstance(shape, (int, np.integer)) and not isinstance(shape, bool):
        shape = (shape,)
    try:
        dims = tuple(_index(dim) for dim in shape)  # type: ignore[attr-defined]
    except (TypeError, AttributeError):
        raise NoShape(f"{what}: shape got {shape!r}, expected ints of at least 0") from None
    if any(dim < 0 for dim in dims):
        raise ShapeError(f"{what}: shape got {dims}, expected ints of at least 0")
    if len(dims) > MAX_DIMS:
        raise ShapeError(f"{what}: shape {dims} has rank {len(dims)}, "
                         f"expected at most {MAX_DIMS}")
    if prod(dims) >= MAX_SIZE:
        raise ShapeError(f"{what}: shape {dims} has more elements than an array can have")
    return dims


def _index(value: object) -> int:
    if isinstance(value, (bool, float)):
        raise TypeError
    return value.__index__()  # type: ignore[attr-defined,no-any-return]
