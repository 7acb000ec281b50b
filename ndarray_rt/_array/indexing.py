"""a[...]: parsing of keys, views for contiguous basic keys, writing through any key.

Copying reads are the operator `_index`; nothing here records on the tape.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..dtypes import is_float
from ..errors import NdrtError, ParameterError, ShapeError
from ..np_shape import is_np_shape
from .access import Access
from .bare import cast
from .create import as_plain_data
from .interop import asnumpy
from .layout import AnyArray, elements, numbers, overwrite
from .ndarray import NDArray

# Placeholder in a key for an index array, which is passed separately.
ARRAY = "@"
Item = Any  # int, slice, None, Ellipsis or ARRAY


class ArrayIndexError(NdrtError, IndexError):
    """A key that does not fit the array."""


class Key:
    """A normalized index: items, and the integer arrays among them in order.

    Masks (bool arrays) are converted to the integer arrays that they select.
    """

    __slots__ = ("arrays", "items")

    def __init__(self, items: tuple[Item, ...], arrays: tuple[AnyArray, ...] = ()) -> None:
        self.items = items
        self.arrays = arrays

    @property
    def is_basic(self) -> bool:
        """Ints, slices, None and Ellipsis only."""
        return not self.arrays

    def numpy(self) -> tuple[Any, ...]:
        """The key as numpy takes it."""
        return with_arrays(self.items, self.arrays)

    def text(self) -> str:
        """The items as a string, for the parameters of `_index`."""
        return ",".join(_item_text(item) for item in self.items)


def with_arrays(items: tuple[Item, ...], arrays: Any) -> tuple[Any, ...]:
    """Items with the arrays in their places."""
    if not arrays:
        return items
    left = iter(arrays)
    return tuple(next(left) if item is ARRAY else item for item in items)


def one_element() -> tuple[int, ...]:
    """The shape of the result of an index that leaves no axis."""
    return () if is_np_shape() else (1,)


def never_scalar(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same key with an Ellipsis where numpy would give a scalar and not an array."""
    for item in key:
        if item is Ellipsis or isinstance(item, np.ndarray):
            return key
    return (*key, Ellipsis)


def _item_text(item: Item) -> str:
    if isinstance(item, slice):
        parts = (item.start, item.stop, item.step)
        return ":".join("" if part is None else str(part) for part in parts)
    return "..." if item is Ellipsis else str(item)


@lru_cache(maxsize=4096)
def parse_items(text: str) -> tuple[Item, ...]:
    """The items of `Key.text`; ParameterError for another text."""
    try:
        return tuple(_parse_item(part) for part in text.split(",")) if text else ()
    except (KeyError, ValueError, TypeError):
        raise ParameterError(f"key got {text!r}, expected ints, slices, None, ... and @, separated "
                             "by commas") from None


def _parse_item(text: str) -> Item:
    if ":" in text:
        return slice(*(int(part) if part else None for part in text.split(":")))
    return {"...": Ellipsis, "None": None, ARRAY: ARRAY}[text] if not text.lstrip(
        "-").isdigit() else int(text)


# ---- from what a user writes ----------------------------------------------------------------


def parse_key(key: Any) -> Key:
    """The Key of whatever stands in the brackets; ArrayIndexError when it can be none."""
    if not isinstance(key, tuple):
        key = (key,)
    items: list[Item] = []
    arrays: list[AnyArray] = []
    for part in key:
        if part is None or part is Ellipsis:
            items.append(part)
        elif isinstance(part, slice):
            items.append(slice(_bound(part.start), _bound(part.stop), _bound(part.step)))
        elif isinstance(part, (int, np.integer, np.bool_)):
            items.append(int(part))
        else:
            for index in _index_arrays(part):
                if index.ndim == 0:
                    items.append(int(index))
                else:
                    items.append(ARRAY)
                    arrays.append(index)
    return Key(tuple(items), tuple(arrays))


def _bound(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return operator.index(value)
    except TypeError:
        raise ArrayIndexError(f"slices take ints or None, got {value!r}") from None


def _index_arrays(part: Any) -> list[AnyArray]:
    """The int64 arrays that an index array, list or mask stands for."""
    if isinstance(part, NDArray):
        found = asnumpy(part)
    elif isinstance(part, (list, tuple, range, np.ndarray)):
        found = np.asarray(part) if len(part) else np.zeros(np.shape(part), np.int64)
    elif hasattr(part, "__index__"):
        return [np.asarray(operator.index(part))]
    else:
        raise ArrayIndexError(f"an array can not be indexed with {part!r} "
                              f"of type {type(part).__name__}")
    if found.dtype.kind == "b" and found.ndim:
        return list(found.nonzero())
    if not (found.dtype.kind in "iu" or is_float(found.dtype)):
        raise ArrayIndexError(f"an array can not be indexed with elements of {found.dtype}")
    # indices are often float32, the default dtype; they count as truncated
    with np.errstate(invalid="ignore"):
        return [found.astype(np.int64)]


# ---- reading --------------------------------------------------------------------------------


def fast_view(x: NDArray, key: Any) -> NDArray | None:
    """Fast path: the view of an int or of a slice of rows, without NumPy; else None."""
    shape = x.shape
    if not shape:
        return None
    if type(key) is int:
        index = key + shape[0] if key < 0 else key
        if not 0 <= index < shape[0]:
            raise ArrayIndexError(f"index {key} is out of bounds for axis 0 of shape {shape}")
        return x._at(index)
    if type(key) is slice and key.step is None:
        try:
            begin, end, _ = key.indices(shape[0])
        except TypeError:
            return None
        return x._rows(begin, max(begin, end))
    return None


def view_of(x: NDArray, key: Key) -> NDArray | None:
    """The view that a basic key makes; None if it is not contiguous and needs a copy."""
    whole = elements(x)
    part = _take(x, whole, key.items)
    if not part.flags.c_contiguous:
        return None
    offset = x._byte_offset
    if part.size:
        offset += (part.__array_interface__["data"][0]
                   - whole.__array_interface__["data"][0])
    return x._part(part.shape or one_element(), offset)


def makes_view(slc_key: tuple[slice, ...], shape: tuple[int, ...]) -> bool:
    """Whether indexing an array of this shape with one slice per axis gives a view.

    Replaces MXNet's `NDArray._basic_indexing_slice_is_contiguous`.
    """
    # an array that only needs strides: all elements are one byte
    steps = [prod(shape[i + 1:]) for i in range(len(shape))]
    part: AnyArray = as_strided(np.zeros(1, np.int8), shape, steps)[slc_key]
    return part.flags.c_contiguous


def _take(x: NDArray, whole: AnyArray, key: tuple[Any, ...]) -> AnyArray:
    try:
        made: AnyArray = whole[never_scalar(key)]
    except (IndexError, ValueError) as error:  # ValueError: a slice with step 0
        raise ArrayIndexError(f"an array of shape {x.shape}: {error}") from None
    return made


def check_arrays(x: NDArray, key: Key) -> None:
    """ArrayIndexError if a key with arrays does not fit x."""
    dummy = np.broadcast_to(np.zeros((), np.int8), x.shape)
    _take(x, dummy, key.numpy())


# ---- writing --------------------------------------------------------------------------------


def assign(x: NDArray, key: Key, value: Any) -> None:
    """x[key] = value: a number, an NDArray or anything array-like, broadcast and cast."""
    whole_key = key.is_basic and all(
        item is Ellipsis or item == slice(None) for item in key.items)
    source = value if isinstance(value, NDArray) else None
    with Access(read=() if source is None else (source,), written=(x,)) as stream:
        if source is None:
            data = as_plain_data(value, "the value assigned")
        else:
            data = numbers(source, stream)
            if source._chunk is x._chunk:
                data = np.array(data)
        with np.errstate(all="ignore"):
            data = cast(data, x.dtype)
        if key.is_basic:
            # checked first, so that the assignment can not fail after old contents were dropped
            data = _fitting(x, data, _take(x, elements(x), key.items).shape)
        if whole_key:
            overwrite(x, data, stream)
        else:
            x._chunk.reorder_to_default(stream)
            _store(x, key, data)


def _fitting(x: NDArray, data: AnyArray, target: tuple[int, ...]) -> AnyArray:
    """`data` without superfluous leading dims; ShapeError if it does not broadcast."""
    while data.ndim > len(target) and data.shape[0] == 1:
        data = data[0]
    if data.ndim > len(target) or any(
            d not in (1, t) for d, t in zip(data.shape[::-1], target[::-1], strict=False)):
        raise ShapeError(f"data of shape {data.shape} can not be assigned to a part of shape "
                         f"{target} of an array of shape {x.shape}")
    return data


def _store(x: NDArray, key: Key, data: AnyArray) -> None:
    whole = elements(x)
    if key.is_basic:
        target = _take(x, whole, key.items)
        x._chunk.wrote()
        target[...] = data
        return
    places = key.numpy()
    dummy = np.broadcast_to(np.zeros((), np.int8), x.shape)
    data = _fitting(x, data, _take(x, dummy, places).shape)
    x._chunk.wrote()
    try:
        whole[places] = data
    except IndexError as error:
        raise ArrayIndexError(f"an array of shape {x.shape}: {error}") from None
    except ValueError as error:
        raise ShapeError(f"an array of shape {x.shape}: {error}") from None
