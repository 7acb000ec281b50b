"""bilinear: sums of products of whole numbers, by BLAS and exactly. Registers no operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._array.layout import AnyArray
from .._array.output import NumpyOutput
from .blas import uses_blas

# whole numbers below it are exact in float64, in whatever order they are summed
_EXACT = 1 << 53
# elements from which on a product is worth the conversions
_WORTH = 1 << 10
_LOW = 16  # bits of the lower part where numbers are split


@uses_blas
def bilinear(function: Callable[[AnyArray, AnyArray], AnyArray], a: AnyArray, b: AnyArray,
             terms: int) -> AnyArray:
    """function(a, b), whose elements are sums of up to `terms` products of an element of each.

    NumPy multiplies integers one by one. Of equal integer dtypes the function is called with
    float64 arrays, which BLAS multiplies, wherever no sum can leave the whole numbers that float64
    has; of wider numbers of up to 32 bits with their upper and lower halves. The result is the one
    that sums modulo the range of the dtype have.
    """
    dtype = a.dtype
    if dtype.kind not in "iu" or b.dtype != dtype or min(a.size, b.size) < _WORTH:
        return function(a, b)
    if _largest(a) * _largest(b) * terms < _EXACT:
        return _through(function, a, b).astype(dtype)
    if dtype.itemsize > 4 or terms << 32 >= _EXACT:
        return function(a, b)
    (a_low, a_high), (b_low, b_high) = _halves(a), _halves(b)
    cross = _through(function, a_high, b_low) + _through(function, a_low, b_high)
    made: AnyArray = (_through(function, a_low, b_low) + (cross << _LOW)).astype(dtype)
    return made


def _largest(x: AnyArray) -> int:
    return max(int(x.max()), -int(x.min()))


def _halves(x: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Lower halves from 0 on, and upper ones with the sign."""
    return x & x.dtype.type((1 << _LOW) - 1), x >> x.dtype.type(_LOW)


def _through(function: Callable[[AnyArray, AnyArray], AnyArray], a: AnyArray, b: AnyArray,
             ) -> AnyArray:
    return function(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)


@uses_blas
def product(a: AnyArray, b: AnyArray, out: NumpyOutput | None = None) -> AnyArray:
    """np.matmul, of integers by `bilinear`; in the room of `out` where it has some."""
    if a.dtype.kind in "iu" or out is None:
        return bilinear(np.matmul, a, b, a.shape[-1])
    dtype = np.result_type(a, b)
    room = out.room(dtype)
    if room is None:
        made: AnyArray = np.matmul(a, b)
        return made
    np.matmul(a, b, out=room.reshape(*a.shape[:-1], b.shape[-1]))
    return room
