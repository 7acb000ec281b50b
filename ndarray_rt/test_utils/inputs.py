"""Random shapes and arrays from numpy's global generator, and small helpers on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import nd
from .._array.create import arange
from .._array.ndarray import NDArray
from ..errors import no_storage
from .settings import default_context
from .tolerances import default_dtype

Array = np.ndarray[Any, np.dtype[Any]]


def _dim(largest: int, allow_zero_size: bool) -> int:
    return int(np.random.randint(0 if allow_zero_size else 1, largest + 1))


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """A shape with sizes from 1 (or 0) up to those given."""
    return _dim(dim0, allow_zero_size), _dim(dim1, allow_zero_size)


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10,
                  allow_zero_size: bool = False) -> tuple[int, int, int]:
    """A shape with sizes from 1 (or 0) up to those given."""
    return (_dim(dim0, allow_zero_size), _dim(dim1, allow_zero_size), _dim(dim2, allow_zero_size))


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of `num_dim` sizes from 1 (or 0) up to `dim`."""
    low = 0 if allow_zero_size else 1
    return tuple(int(d) for d in np.random.randint(low, dim + 1, size=num_dim))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A point with x in [x_low, x_high) and y in [y_low, y_high)."""
    x = np.random.randint(x_low, x_high, dtype=np.int64)
    y = np.random.randint(y_low, y_high, dtype=np.int64)
    return int(x), int(y)


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """Normally distributed float32 numpy arrays: one, or a list for several shapes."""
    made = [np.asarray(np.random.randn(*shape), default_dtype()) for shape in shapes]
    return made[0] if len(made) == 1 else made


def random_uniform_arrays(*shapes: tuple[int, ...], low: float = 0.0, high: float = 1.0,
                          dtype: Any = None) -> list[Array]:
    """A list of uniformly distributed numpy arrays in [low, high), float32 unless told."""
    wanted = default_dtype() if dtype is None else dtype
    return [np.asarray(np.random.uniform(low, high, size=shape), wanted) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> Sequence[Any]:
    """k different elements in random order."""
    if not 0 <= k <= len(population):
        raise AssertionError(f"random_sample: {k} of {len(population)} elements")
    shuffled: Any = population[:]
    np.random.shuffle(shuffled)
    chosen: Sequence[Any] = shuffled[:k]
    return chosen


def rand_sparse_ndarray(shape: tuple[int, ...], stype: str, *args: Any, **kwargs: Any) -> Any:
    """Raises MXNetError: there are no sparse arrays here."""
    raise no_storage(stype, "rand_sparse_ndarray")


def rand_ndarray(shape: tuple[int, ...], stype: str = "default", density: float | None = None,
                 dtype: Any = None, modifier_func: Any = None, shuffle_csr_indices: bool = False,
                 distribution: Any = None, ctx: Any = None) -> NDArray:
    """A normally distributed array, float32 unless told; MXNetError for sparse storage types."""
    if stype != "default":
        rand_sparse_ndarray(shape, stype)
    return nd.array(random_arrays(shape), dtype=dtype, ctx=ctx or default_context())


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """An array whose rows hold their number."""
    column = arange(0, rows, dtype=dtype).reshape((rows, 1))
    made: NDArray = nd.broadcast_to(column, shape=(rows, columns))
    return made


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """0, 1, 2, ..."""
    return arange(0, size, dtype=dtype)


def np_reduce(dat: Array, axis: int | Sequence[int] | None, keepdims: bool,
              numpy_reduce_func: Callable[..., Any]) -> Any:
    """Applies a numpy reduction such as np.sum axis by axis."""
    axes = [axis] if isinstance(axis, int) else list(range(dat.ndim) if axis is None else axis)
    made = dat
    for one in sorted(axes, reverse=True):
        made = numpy_reduce_func(made, axis=one)
    if keepdims:
        kept = list(dat.shape)
        for one in axes:
            kept[one] = 1
        made = made.reshape(tuple(kept))
    return made


def collapse_sum_like(a: Array, shape: tuple[int, ...]) -> Array:
    """The sum of `a` over the axes along which an array of `shape` would be broadcast to it."""
    assert a.ndim >= len(shape)
    if a.size == 0 or np.prod(shape) == 0:
        return np.zeros(shape, a.dtype)
    more = a.ndim - len(shape)
    axes = list(range(more))
    for i, size in enumerate(shape, more):
        if size != a.shape[i]:
            assert size == 1, f"{shape} can not be broadcast to {a.shape}"
            axes.append(i)
    return np.asarray(a.sum(axis=tuple(axes)).reshape(shape))


def assign_each(the_input: Any, function: Callable[[Any], Any] | None) -> Array:
    """`function` of each element, as float64; a copy for None."""
    source = np.asarray(the_input)
    if function is None:
        return np.array(source)
    made = [function(value) for value in source.ravel()]
    return np.array(made, np.float64).reshape(source.shape)


def assign_each2(input1: Any, input2: Any, function: Callable[[Any, Any], Any] | None) -> Array:
    """`function` of each pair of elements, as float64; a copy of the first for None."""
    first, second = np.asarray(input1), np.asarray(input2)
    if function is None:
        return np.array(first)
    assert first.shape == second.shape
    made = [function(x, y) for x, y in zip(first.ravel(), second.ravel(), strict=True)]
    return np.array(made, np.float64).reshape(first.shape)
