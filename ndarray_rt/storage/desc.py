"""MemDesc: an immutable memory layout, one object for each layout.

Holds no data and no pointer to any.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from ..dtypes import NATIVE_CODES, DType, native_code
from ..errors import ParameterError, Unsupported
from ..native import call, ffi, lib, own

FORMAT_ANY, FORMAT_BLOCKED, FORMAT_OPAQUE = 1, 2, 3
_CODE_NAMES = {code: name for name, code in NATIVE_CODES.items()}
_DATA_LETTERS = {1: "x", 2: "nc", 3: "ncw", 4: "nchw", 5: "ncdhw"}
_WEIGHT_LETTERS = {1: "o", 2: "oi", 3: "oiw", 4: "oihw", 5: "oidhw"}

# layouts kept alive after their last user: making one again costs some microseconds
KEPT = 512

_live: WeakValueDictionary[int, MemDesc] = WeakValueDictionary()


class MemDesc:
    """A memory layout: dtype, dims, strides, inner blocks, padding.

    Equal layouts are the same object, so that `is` compares layouts. Layouts that put the same
    bytes in the same places, and differ only in the strides of dimensions of size 1, share
    `same_as`.
    """

    __slots__ = ("__weakref__", "dims", "dtype_code", "format", "id", "inner_blks", "inner_idxs",
                 "is_default", "is_padded", "nbytes", "nelems", "offset0", "padded_dims", "ptr",
                 "same_as", "strides")

    def __init__(self, ptr: Any, info: Any) -> None:
        n, blocks = info.ndims, info.inner_nblks
        self.ptr = ptr
        self.id: int = info.id
        self.same_as: int = info.same_as
        self.nbytes: int = info.nbytes
        self.nelems: int = info.nelems
        self.dtype_code: int = info.dtype
        self.format: int = info.format
        self.is_default = bool(info.is_default)
        self.is_padded = bool(info.is_padded)
        self.offset0: int = info.offset0
        self.dims: tuple[int, ...] = tuple(info.dims[0:n])
        self.padded_dims: tuple[int, ...] = tuple(info.padded_dims[0:n])
        self.strides: tuple[int, ...] = tuple(info.strides[0:n])
        self.inner_blks: tuple[int, ...] = tuple(info.inner_blks[0:blocks])
        self.inner_idxs: tuple[int, ...] = tuple(info.inner_idxs[0:blocks])

    @property
    def ndims(self) -> int:
        return len(self.dims)

    @property
    def is_any(self) -> bool:
        """A request to oneDNN to choose, and not a layout that memory can have."""
        return self.format == FORMAT_ANY

    @property
    def dtype_name(self) -> str:
        return _CODE_NAMES[self.dtype_code]

    def permuted(self, axes: Sequence[int]) -> MemDesc:
        """The same bytes with axis `axes[i]` called i."""
        out = ffi.new("ndrt_desc **")
        call(lib.ndrt_desc_permuted, self.ptr, list(axes), out, what="permuting a layout")
        return _adopt(out[0])

    def reshaped(self, dims: Sequence[int]) -> MemDesc:
        """The same bytes with other dims; Unsupported if bytes would have to move."""
        out = ffi.new("ndrt_desc **")
        call(lib.ndrt_desc_reshaped, self.ptr, len(dims), list(dims), out,
             what="reshaping a layout")
        return _adopt(out[0])

    def of_dtype(self, dtype: DType) -> MemDesc:
        """The same layout for another dtype; Unsupported if oneDNN has no such tag."""
        if not self.inner_blks:
            return strided_desc(dtype, self.dims, self.strides)
        made = tagged_desc(dtype, self.dims, self._named("abcdefghijkl"))
        wide = [d for d in range(self.ndims) if self.dims[d] > 1]
        if made.inner_blks != self.inner_blks or any(made.strides[d] != self.strides[d]
                                                     for d in wide):
            raise Unsupported(f"{self!r} can not be described for {dtype}")
        return made

    def layout(self, weights: bool = False, groups: bool = False) -> str:
        """oneDNN's name, such as nchw, nhwc, nChw16c, OIhw16i16o."""
        if self.format == FORMAT_ANY:
            return "any"
        if self.format == FORMAT_OPAQUE:
            return "opaque"
        n = self.ndims
        if groups:
            letters = "g" + _WEIGHT_LETTERS.get(n - 1, "abcdefghijk"[: n - 1])
        else:
            letters = (_WEIGHT_LETTERS if weights else _DATA_LETTERS).get(n, "abcdefghijkl"[:n])
        return self._named(letters)

    def _named(self, letters: str) -> str:
        """Outer dims in their order, blocked ones in capitals, then the blocks."""
        blocked = set(self.inner_idxs)
        outer = "".join(letters[d].upper() if d in blocked else letters[d]
                        for d in self._outer_order())
        inner = "".join(f"{b}{letters[d]}"
                        for b, d in zip(self.inner_blks, self.inner_idxs, strict=True))
        return outer + inner

    def _outer_order(self) -> list[int]:
        """The dims from the outermost to the innermost, blocks left out.

        Strides of dims of size 1 carry no information. They are placed as in the first common order
        that agrees with the other dims, else at their own position.
        """
        n, sizes = self.ndims, list(self.padded_dims)
        for block, d in zip(self.inner_blks, self.inner_idxs, strict=True):
            sizes[d] //= block
        wide = sorted((d for d in range(n) if sizes[d] > 1), key=lambda d: (-self.strides[d], d))
        for usual in ([*range(n)], [0, *range(2, n), 1]):
            if wide == [d for d in usual if sizes[d] > 1]:
                return usual
        others = iter(wide)
        return [next(others) if sizes[d] > 1 else d for d in range(n)]

    def __repr__(self) -> str:
        return f"MemDesc({self.dtype_name}, {self.dims}, {self.layout()})"

    def __reduce__(self) -> Any:
        raise TypeError("a MemDesc belongs to its process and can not be pickled")


def _adopt(ptr: Any) -> MemDesc:
    """The MemDesc of a descriptor; takes over the caller's reference."""
    owned = own(ptr, lib.ndrt_desc_free)
    info = lib.ndrt_desc_read(ptr)
    found = _live.get(info.id)
    if found is None:
        found = MemDesc(owned, info)
        found = _live.setdefault(found.id, found)
    return found


def adopt(ptr: Any) -> MemDesc | None:
    """Like _adopt; None for NULL."""
    return None if ptr == ffi.NULL else _adopt(ptr)


def _code(dtype: DType) -> int:
    code = native_code(dtype)
    if code is None:
        raise Unsupported(f"oneDNN has no layout for dtype {dtype}")
    return code


@lru_cache(maxsize=KEPT)
def default_desc(dtype: DType, dims: tuple[int, ...]) -> MemDesc:
    """Dense row-major. Rank 0 counts as (1,): oneDNN has no rank 0."""
    out = ffi.new("ndrt_desc **")
    dims = dims or (1,)
    call(lib.ndrt_desc_strided, _code(dtype), len(dims), dims, ffi.NULL, out,
         what="describing a layout")
    return _adopt(out[0])


@lru_cache(maxsize=KEPT)
def tagged_desc(dtype: DType, dims: tuple[int, ...], tag: str) -> MemDesc:
    """A layout by oneDNN's letters: 'any', 'acdb' (channels-last), 'aBcd16b'."""
    if not tag.isascii():
        raise ParameterError(f"no layout is called {tag!r}")
    out = ffi.new("ndrt_desc **")
    call(lib.ndrt_desc_tagged, _code(dtype), len(dims), dims, tag.encode(), out,
         what=f"describing the layout {tag!r}")
    return _adopt(out[0])


def plain_tag(name: str, ndims: int) -> str:
    """oneDNN's tag for any name that `MemDesc.layout` returns.

    >>> plain_tag("nhwc", 4), plain_tag("nChw16c", 4), plain_tag("gOIhw16i16o", 5)
    ('acdb', 'aBcd16b', 'aBCde16c16b')

    Other names are returned unchanged.
    """
    used = {letter.lower() for letter in name if letter.isalpha()}
    for letters in (_DATA_LETTERS.get(ndims, ""), _WEIGHT_LETTERS.get(ndims, ""),
                    "g" + _WEIGHT_LETTERS.get(ndims - 1, "")):
        if len(letters) == ndims and used == set(letters):
            plain = "abcdefghijkl"[:ndims]
            return name.translate(str.maketrans(letters + letters.upper(), plain + plain.upper()))
    return name


def any_desc(dtype: DType, dims: tuple[int, ...]) -> MemDesc:
    """Leaves the layout to the primitive."""
    return tagged_desc(dtype, dims, "any")


@lru_cache(maxsize=KEPT)
def strided_desc(dtype: DType, dims: tuple[int, ...], strides: tuple[int, ...]) -> MemDesc:
    """Any strides, counted in elements."""
    out = ffi.new("ndrt_desc **")
    call(lib.ndrt_desc_strided, _code(dtype), len(dims), dims, strides, out,
         what="describing a layout")
    return _adopt(out[0])


def channels_last_desc(dtype: DType, dims: tuple[int, ...]) -> MemDesc:
    """nwc, nhwc or ndhwc; the default layout below rank 3."""
    n = len(dims)
    if n < 3:
        return default_desc(dtype, dims)
    letters = "abcdefghijkl"
    return tagged_desc(dtype, dims, "a" + letters[2:n] + "b")


def blocked_desc(dtype: DType, dims: tuple[int, ...], block: int) -> MemDesc:
    """nCw16c, nChw16c or nCdhw16c, for blocks of 16 channels."""
    letters = "abcdefghijkl"
    return tagged_desc(dtype, dims, f"aB{letters[2:len(dims)]}{block}b")


def clear_desc_caches() -> None:
    """Drops the cached descriptors; those in use stay valid."""
    for made in (default_desc, tagged_desc, strided_desc):
        made.cache_clear()
