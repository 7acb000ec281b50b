"""Making arrays: from Python data, filled, by ranges, by joining. Records nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, isfinite
from operator import index
from typing import Any

import numpy as np

from ..context import Context
from ..dtypes import FLOAT32, DType, find_dtype, is_float
from ..errors import OutOfMemory, ParameterError, ShapeError, TypeMismatch, shown
from .access import Access
from .bare import numbers_of
from .copy import copy_into, write_numpy
from .layout import AnyArray, default_elements, elements, overwrite
from .ndarray import NDArray, check_shape, new_array

# an array of one element counts as that
Number = float | NDArray


def _dtype(dtype: object) -> DType:
    return FLOAT32 if dtype is None else find_dtype(dtype)


def as_plain_data(source: object, what: str) -> AnyArray:
    """Any array-like as a NumPy array of numbers; TypeMismatch for ragged lists, objects, text."""
    try:
        made = np.asarray(source)
    except (ValueError, TypeError) as error:
        raise TypeMismatch(f"{what} must be array like, of numbers and with rows of equal length: "
                           f"{error}") from None
    # bfloat16 of ml_dtypes is of kind V
    if not (made.dtype.kind in "biu" or is_float(made.dtype)):
        raise TypeMismatch(f"{what} must be array like, of numbers; got {type(source).__name__} "
                           f"with elements of {made.dtype}")
    return numbers_of(made)


def _numbers(source: object, dtype: DType) -> AnyArray:
    """An array-like as a NumPy array of numbers; text is parsed."""
    if not isinstance(source, (str, bytes)) and _begins_with_text(source):
        try:
            given = np.asarray(source)
            if given.dtype.kind in "US":
                return given.astype(FLOAT32 if is_float(dtype) and dtype.itemsize < 4 else dtype)
        except (ValueError, OverflowError) as error:
            raise TypeMismatch("source_array must be array like, of numbers; got text that is none "
                               f"of {dtype}: {error}") from None
    return as_plain_data(source, "source_array")


def _begins_with_text(source: object) -> bool:
    while isinstance(source, (list, tuple)) and source:
        source = source[0]
    return isinstance(source, (str, bytes)) or (
        isinstance(source, np.ndarray) and source.dtype.kind in "US")


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with the contents of an NDArray, a NumPy array, nested lists or a number; text is
    parsed as numbers.

    The default dtype is that of an NDArray, else float32.
    """
    if isinstance(source_array, NDArray):
        kept = source_array.dtype if dtype is None else find_dtype(dtype)
        made = new_array(source_array.shape, kept, ctx)
        with Access(read=(source_array,), written=(made,)) as stream:
            copy_into(source_array, made, stream)
        return made
    data = _numbers(source_array, _dtype(dtype))
    made = new_array(check_shape(data.shape, "array"), _dtype(dtype), ctx)
    with Access(written=(made,)) as stream:
        write_numpy(made, data, stream)
    return made


def empty(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with arbitrary contents."""
    return new_array(check_shape(shape, "empty"), _dtype(dtype), ctx)


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of zeros; its memory is allocated on first use."""
    return new_array(check_shape(shape, "zeros"), _dtype(dtype), ctx, zero=True)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of ones."""
    return _filled(new_array(check_shape(shape, "ones"), _dtype(dtype), ctx), 1)


def full(shape: Any, val: Any, ctx: Context | None = None, dtype: Any = None,
         out: NDArray | None = None) -> NDArray:
    """An array (or `out`) with `val` everywhere."""
    if out is not None and not isinstance(out, NDArray):
        raise TypeMismatch(f"full: out must be an NDArray, got {out!r}")
    made = new_array(check_shape(shape, "full"), _dtype(dtype), ctx) if out is None else out
    if made.shape != check_shape(shape, "full"):
        raise ShapeError(f"full: out has shape {made.shape}, expected {shape}")
    return _filled(made, val)


def _filled(made: NDArray, value: Any) -> NDArray:
    data = as_plain_data(value, "full: val")
    try:
        fits = np.broadcast_shapes(data.shape, made.shape) == made.shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"full: val has shape {data.shape}, expected one that is broadcast to "
                         f"{made.shape}")
    with Access(written=(made,)) as stream:
        overwrite(made, data, stream)
    return made


def _from_values(values: AnyArray, ctx: Context | None, dtype: Any) -> NDArray:
    made = new_array(values.shape, _dtype(dtype), ctx)
    with Access(written=(made,)) as stream:
        write_numpy(made, values, stream)
    return made


def _number(value: Any, what: str) -> int | float:
    """A finite number, or an array of one element that is one."""
    found = value
    if not isinstance(value, (bool, int, float)):
        try:
            data = np.asarray(value)
        except (ValueError, TypeError):
            data = np.empty(0)
        if data.size != 1 or not (data.dtype.kind in "biu" or is_float(data.dtype)):
            raise TypeMismatch(f"{what} got {shown(value)}, expected a number")
        found = data.item()
    try:
        finite = isfinite(found)
    except OverflowError:  # an int too large for a float
        finite = False
    if not finite:
        raise ParameterError(f"{what} got {shown(value)}, expected a finite number")
    made: int | float = found
    return made


def _whole(value: Any, what: str, low: int | None = None) -> int:
    """An int, at least `low`."""
    wants = "an int" if low is None else f"an int of at least {low}"
    try:
        made = index(value)
    except TypeError:
        raise TypeMismatch(f"{what} got {shown(value)}, expected {wants}") from None
    if low is not None and made < low:
        raise ParameterError(f"{what} got {shown(value)}, expected {wants}")
    return made


@contextmanager
def _out_of_memory(what: str) -> Iterator[None]:
    """Replaces NumPy's MemoryError by OutOfMemory."""
    try:
        yield
    except OutOfMemory:
        raise
    except MemoryError:
        raise OutOfMemory(f"{what}: there is no memory for so many elements") from None


def arange(start: Number, stop: Number | None = None, step: Number = 1.0, repeat: int = 1,
           infer_range: bool = False, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """start, start + step, ... below stop, each `repeat` times."""
    if stop is None:
        start, stop = 0, start
    start, stop = _number(start, "arange: start"), _number(stop, "arange: stop")
    step, repeat = _number(step, "arange: step"), _whole(repeat, "arange: repeat", 1)
    if step == 0 or (stop - start) * step < 0:
        raise ParameterError(f"arange: no range from {start} to {stop} by {step}")
    steps = (stop - start) / step
    if not isfinite(steps):
        raise ParameterError(f"arange: the range from {start} to {stop} by {step} has more "
                             "elements than an array can have")
    count = ceil(steps)
    check_shape((count * repeat,), "arange")
    made = _dtype(dtype)
    # computed in the array's own dtype, as in MXNet
    work = made if made.kind in "fiu" else np.dtype(np.float32)
    with _out_of_memory("arange"), np.errstate(all="ignore"):
        places = np.repeat(np.arange(count), repeat).astype(work)
        values = np.asarray(start).astype(work) + places * np.asarray(step).astype(work)
    return _from_values(values, ctx, made)


def linspace(start: Number, stop: Number, num: int, endpoint: bool = True,
             ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """`num` evenly spaced numbers from start to stop."""
    low, high = _number(start, "linspace: start"), _number(stop, "linspace: stop")
    (count,) = check_shape((_whole(num, "linspace: num", 0),), "linspace")
    made = _dtype(dtype)
    with _out_of_memory("linspace"), np.errstate(all="ignore"):
        values = np.linspace(low, high, count, endpoint=bool(endpoint))
    return _from_values(values, ctx, made)


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None,  # noqa: N803 - MXNet's names
        dtype: Any = None) -> NDArray:
    """N by M (0: N) with ones on diagonal k."""
    rows, columns = _whole(N, "eye: N", 0), _whole(M, "eye: M", 0)
    shape = check_shape((rows, columns or rows), "eye")
    # diagonals outside of the matrix are empty
    diagonal = min(max(_whole(k, "eye: k"), -shape[0]), shape[1])
    made = _dtype(dtype)
    with _out_of_memory("eye"):
        values = np.eye(shape[0], shape[1], diagonal)
    return _from_values(values, ctx, made)


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis; a single one is itself unless `always_copy`."""
    if (not isinstance(arrays, (list, tuple)) or not arrays
            or not all(isinstance(a, NDArray) for a in arrays)):
        raise TypeMismatch(f"concatenate: arrays got {shown(arrays)}, expected a list of at least "
                           "one NDArray")
    first: NDArray = arrays[0]
    axis = _whole(axis, "concatenate: axis")
    if len(arrays) == 1 and not always_copy:
        return first
    if not -first.ndim <= axis < first.ndim:
        raise ShapeError(f"concatenate: axis {axis} of an array of rank {first.ndim}")
    axis %= first.ndim
    for a in arrays:
        if (a.shape[:axis], a.shape[axis + 1:]) != (first.shape[:axis], first.shape[axis + 1:]):
            raise ShapeError(f"concatenate: shapes {first.shape} and {a.shape} differ in more "
                             f"than axis {axis}")
        if a.dtype != first.dtype:
            raise TypeMismatch(f"concatenate: dtypes {first.dtype} and {a.dtype}")
    length = sum(a.shape[axis] for a in arrays)
    made = new_array((*first.shape[:axis], length, *first.shape[axis + 1:]), first.dtype,
                     first.ctx)
    with Access(read=arrays, written=(made,)) as stream:
        made._chunk.wrote()
        np.concatenate([default_elements(a, stream) for a in arrays], axis, out=elements(made))
    return made


def waitall() -> None:
    """Returns at once: execution is synchronous."""
