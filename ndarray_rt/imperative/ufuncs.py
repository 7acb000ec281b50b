"""NumPy's ufuncs on arrays. Those that are Python's operators are ours, all others NumPy's.

To NumPy `a + x` is np.add(a, x), and `a += x` is np.add(a, x, out=a); it can not be told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from .._array.numpy_functions import Plain, read_only
from .arithmetic import binary
from .python_operators import floor_divide, matmul

OPERATORS: dict[Any, str] = {
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.true_divide: "divide",
    np.remainder: "modulo", np.power: "power", np.equal: "equal", np.not_equal: "not_equal",
    np.greater: "greater", np.greater_equal: "greater_equal", np.less: "lesser",
    np.less_equal: "lesser_equal"}
# those that are several operators here
COMPOSED: dict[Any, Callable[[Any, Any], Any]] = {
    np.matmul: matmul, np.floor_divide: floor_divide}


def array_ufunc(x: NDArray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """numpy's `__array_ufunc__`.

    An operator gives an array, as `a + x` does, and is recorded. Every other ufunc, and any with
    more arguments, computes on copies of the contents and gives numpy arrays, into `out` if that
    is one. Writing to an NDArray, by `out` or `at`, is refused with TypeError.
    """
    kind = OPERATORS.get(ufunc)
    if kind is not None and method == "__call__" and not kwargs:
        return binary(kind, *inputs)
    if ufunc in COMPOSED and method == "__call__" and not kwargs:
        return COMPOSED[ufunc](*inputs)
    written = inputs[:1] if method == "at" else kwargs.get("out", ())
    if any(isinstance(array, NDArray) for array in written):
        return NotImplemented
    plain = Plain(read_only)
    new_inputs, new_kwargs = plain(inputs), plain(kwargs)
    return getattr(ufunc, method)(*new_inputs, **new_kwargs) if plain.found else NotImplemented
