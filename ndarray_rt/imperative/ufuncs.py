"""NumPy's ufuncs on arrays: operators of Python return arrays, all others are NumPy's.

For NumPy `a + x` is np.add(a, x), and `a += x` is np.add(a, x, out=a); the two forms can not be
told apart.
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
# ufuncs that are several operators here
COMPOSED: dict[Any, Callable[[Any, Any], Any]] = {
    np.matmul: matmul, np.floor_divide: floor_divide}


def array_ufunc(x: NDArray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's `__array_ufunc__`.

    A ufunc that is an operator returns an array, as `a + x` does, and is recorded. Every other one,
    and any with more arguments, computes on copies of the contents and returns NumPy arrays, in
    `out` if that is one. Writing to an NDArray, by `out` or `at`, raises TypeError.
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
