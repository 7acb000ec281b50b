"""check_layout_round_trip: contents go to a layout and back, and each reader sees the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from .._array.copy import read_numpy, write_numpy
from .._array.interop import asnumpy
from .._array.ndarray import NDArray, new_array
from ..dtypes import find_dtype
from ..errors import ParameterError, ShapeError
from ..storage.desc import MemDesc, tagged_desc
from ..storage.stream import Stream
from .case import Array
from .checks import Failures, no_leak
from .layout_model import assert_padding_zero, padding, peek
from .memory_layouts import family_of, layouts_of
from .report import Ran, Report


def check_layout_round_trip(array: Any,
                            layouts: Sequence[MemDesc | str] | MemDesc | str | None = None,
                            dtype: object = None, seed: int = 0) -> Report:
    """Converts contents to layouts and back, and compares them bit for bit at each step.

    `array` is an NDArray or a numpy array (its contents are copied; it stays as it is), or a
    shape, for random bits. `layouts` are MemDescs or oneDNN's tags such as "aBcd16b", or one of
    them; without them all that `layouts_of` lists for the shape: permuted, blocked, padded,
    grouped. `dtype` is float32 for a shape unless told otherwise, else the array's.

    For each layout: the bytes lie where the layout's definition says; padding is zero, byte for
    byte; the array, its rows and its reshaped views read the contents; what is written through a
    view is seen by the whole; back in the default layout every byte is the same. Then from each
    layout straight to the next. Returns a Report with the number of round trips for each family
    of layouts. Raises AssertionError naming the layout.
    """
    value = _contents(array, dtype, seed)
    if layouts is None:
        descs = layouts_of(value.shape, value.dtype)
    else:
        given = [layouts] if isinstance(layouts, (str, MemDesc)) else list(layouts)
        if not given:
            raise ParameterError("check_layout_round_trip: layouts is empty, so that nothing "
                                 "would be checked")
        descs = [desc if isinstance(desc, MemDesc) else
                 tagged_desc(value.dtype, value.shape, desc) for desc in given]
    for desc in descs:
        if desc.nelems != value.size or desc.dtype_name != value.dtype.name:
            raise ShapeError(f"check_layout_round_trip: {desc!r} is no layout of an array of "
                             f"shape {value.shape} and dtype {value.dtype}")
    report = Report(f"{value.dtype} {value.shape}")
    failures = Failures()
    counts: dict[str, int] = {}
    with no_leak():
        for desc in descs:
            family = family_of(desc, value.shape)
            with failures.trying(f"{family} {desc!r}"):
                _there_and_back(value, desc)
            counts[family] = counts.get(family, 0) + 1
        for first, second in pairwise(descs):
            if first.dims == second.dims:
                with failures.trying(f"{first!r} to {second!r}"):
                    _between(value, first, second)
                counts["between two"] = counts.get("between two", 0) + 1
    failures.settle()
    if not descs:
        report.parts.append(Ran("round trip", "layouts", 0,
                                f"oneDNN has no layouts for {value.dtype}"))
    report.parts += [Ran(family, "layouts", count) for family, count in counts.items()]
    return report


def random_bits(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> Array:
    """Random bits, so that a value that is only nearly the same shows.

    Floats are finite and normal: what conversions may do to others is no matter of layouts.
    """
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    raw = rng.integers(0, 256, prod(shape) * dtype.itemsize, np.uint8)
    made: Array = raw.view(dtype).reshape(shape)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            normal = np.isfinite(made) & (np.abs(made) >= np.finfo(dtype).tiny)
        made = np.where(normal, made, dtype.type(1.5))
    return made


def _contents(array: Any, dtype: object, seed: int) -> Array:
    if isinstance(array, NDArray):
        value = asnumpy(array)
    elif isinstance(array, np.ndarray):
        value = array
    else:
        return random_bits(tuple(array), find_dtype("float32" if dtype is None else dtype), seed)
    return value if dtype is None else value.astype(find_dtype(dtype))


def _array_of(value: Array, stream: Stream) -> NDArray:
    array = new_array(value.shape, value.dtype)
    write_numpy(array, value, stream)
    return array


def _assert_same(got: Array, value: Array, what: str) -> None:
    assert got.dtype == value.dtype, f"{what} has dtype {got.dtype}, expected {value.dtype}"
    assert got.shape == value.shape, f"{what} has shape {got.shape}, expected {value.shape}"
    if got.tobytes() == value.tobytes():
        return
    width = max(1, value.dtype.itemsize)
    a, b = (np.frombuffer(x.tobytes(), np.uint8).reshape(-1, width) for x in (got, value))
    bad = np.flatnonzero((a != b).any(1))
    at = tuple(int(i) for i in np.unravel_index(int(bad[0]), value.shape))
    raise AssertionError(f"{what}: {len(bad)} of {value.size} elements differ in their bits, the "
                         f"first at {at}: got {got[at]!r}, expected {value[at]!r}")


def _assert_in(array: NDArray, desc: MemDesc, value: Array) -> None:
    """The array is in this layout, where its definition says, and padding is zero."""
    if desc.is_default:
        assert not array.is_special, f"is in {array.layout}, expected the default layout"
        return
    assert array._chunk.mkl_mem is desc, f"is in {array.layout}, expected {desc!r}"
    assert array._chunk.nbytes >= desc.nbytes, "the memory is smaller than its layout"
    _assert_same(peek(array).reshape(value.shape), value, "the bytes in memory")
    assert bool(padding(array._chunk).size) == desc.is_padded
    assert_padding_zero(array._chunk, "after a reorder")


def _there_and_back(value: Array, desc: MemDesc) -> None:
    stream = Stream()
    array = _array_of(value, stream)
    array._chunk.reorder(desc, stream)
    _assert_in(array, desc, value)
    _assert_same(read_numpy(array, stream), value, "a read")
    _assert_same(asnumpy(array), value, "asnumpy")
    _assert_in(array, desc, value)
    _views_agree(array, desc, value, stream)
    array._chunk.reorder(desc, stream)
    _assert_in(array, desc, value)
    array._chunk.reorder_to_default(stream)
    assert not array.is_special, "is special after reorder_to_default"
    _assert_same(read_numpy(array, stream), value, "the default layout")


def _views_agree(array: NDArray, desc: MemDesc, value: Array, stream: Stream) -> None:
    """Views of the special array read its contents, and write to it."""
    rows = len(value) if value.ndim else 0
    parts = [(array._view_as((value.size,)), value.reshape(-1), "a flat view")]
    if rows:
        parts += [(array._rows(rows // 2, rows), value[rows // 2:], "its last rows"),
                  (array._at(0), value[:1] if value.ndim == 1 else value[0], "its first row")]
    for view, want, what in parts:
        array._chunk.reorder(desc, stream)
        _assert_same(asnumpy(view), want, what)
        _assert_same(asnumpy(array), value, f"the whole after reading {what}")
    if not rows:
        return
    array._chunk.reorder(desc, stream)
    changed = value.copy()
    changed[rows // 2:] = value[:rows - rows // 2]
    write_numpy(array._rows(rows // 2, rows), changed[rows // 2:], stream)
    array._chunk.wrote()
    _assert_same(asnumpy(array), changed, "the whole after writing its last rows")
    write_numpy(array, value, stream)
    array._chunk.wrote()


def _between(value: Array, first: MemDesc, second: MemDesc) -> None:
    stream = Stream()
    array = _array_of(value, stream)
    array._chunk.reorder(first, stream)
    array._chunk.reorder(second, stream)
    _assert_in(array, second, value)
    _assert_same(read_numpy(array, stream), value, "a read")
