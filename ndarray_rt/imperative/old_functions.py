"""_copyto, _set_value and _onehot_encode: MXNet's functions from before it had operators.

They write to the array given as `out`, and can not be part of a graph.
"""

from __future__ import annotations

from typing import Any

from .._array.create import empty, full
from .._array.ndarray import NDArray
from ..errors import ShapeError, TypeMismatch, shown
from .array_methods import copyto
from .invoke import invoke


def _need_array(function: str, name: str, given: Any) -> NDArray:
    if not isinstance(given, NDArray):
        raise TypeMismatch(f"{function}: {name} got {shown(given)}, expected an NDArray")
    return given


def _copyto(data: NDArray, out: NDArray, name: str | None = None) -> NDArray:
    """Writes data to `out`, of the same shape, in the dtype that it has; returns it."""
    made: NDArray = copyto(_need_array("_copyto", "data", data), _need_array("_copyto", "out", out))
    return made


def _set_value(src: float, out: NDArray, name: str | None = None) -> NDArray:
    """Writes a number, cast to its dtype, to each element of `out`; returns it."""
    return full(_need_array("_set_value", "out", out).shape, float(src), out=out)


def _onehot_encode(lhs: NDArray, rhs: NDArray, out: NDArray | None = None,
                   name: str | None = None) -> NDArray:
    """One-hot rows of lhs (n,) in the shape of rhs (n, depth), in `out` or a new array."""
    function = "_onehot_encode"
    rhs = _need_array(function, "rhs", rhs)
    if rhs.ndim != 2 or _need_array(function, "lhs", lhs).shape != rhs.shape[:1]:
        raise ShapeError(f"{function}: lhs has shape {lhs.shape}, rhs {rhs.shape}, expected (n,) "
                         "and (n, depth)")
    made = empty(rhs.shape, rhs.ctx, rhs.dtype) if out is None else _need_array(function, "out",
                                                                                out)
    invoke("one_hot", (lhs,), {"depth": rhs.shape[1], "dtype": made.dtype.name}, out=made)
    return made


FUNCTIONS = {made.__name__: made for made in (_copyto, _set_value, _onehot_encode)}
