"""Operators of Python that MXNet's arrays lack: `@`, `//`, round(), with NumPy's meaning."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._array.create import array
from .._array.ndarray import NDArray
from ..errors import ParameterError, ShapeError, shown
from ..op.arithmetic import floor_quotient
from .arithmetic import NUMBERS, binary, operand
from .fast_call import call_named
from .invoke import invoke

DIGITS = 38  # larger powers of ten overflow float32


def matmul(lhs: Any, rhs: Any) -> Any:
    """lhs @ rhs: products of the last two axes, the axes before them broadcast, as np.matmul does.

    The product of two arrays of rank 1 has shape (1,). Computed by `dot` and `batch_dot`.
    """
    like = lhs if isinstance(lhs, NDArray) else rhs
    a, b = operand(lhs, like), operand(rhs, like)
    if a is None or b is None:
        return NotImplemented
    if not a.ndim or not b.ndim:
        raise ShapeError(f"matmul: shapes {a.shape} and {b.shape}, expected ranks of at least 1")
    inner = b.shape[0] if b.ndim == 1 else b.shape[-2]
    if a.shape[-1] != inner:
        raise ShapeError(f"matmul: shapes {a.shape} and {b.shape}: {a.shape[-1]} columns and "
                         f"{inner} rows do not go together")
    if b.ndim <= 2 and (a.ndim <= 2 or b.ndim == 2):
        return call_named("dot", (a, b), {})
    return _batched(a, b)


def _batched(a: NDArray, b: NDArray) -> Any:
    lefts, rights = a.ndim > 1, b.ndim > 1
    a = a if lefts else a.reshape((1, -1))
    b = b if rights else b.reshape((-1, 1))
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"matmul: {a.shape[:-2]} and {b.shape[:-2]}, the axes before the last "
                         "two, do not broadcast") from None
    stacks = []
    for x in (a, b):
        wide = x.reshape((1,) * (len(batch) + 2 - x.ndim) + x.shape)
        stacks.append(wide.broadcast_to(batch + x.shape[-2:]).reshape(
            (prod(batch), *x.shape[-2:])))
    shape = (*batch, *a.shape[-2:-1] * lefts, *b.shape[-1:] * rights)
    return call_named("batch_dot", tuple(stacks), {}).reshape(shape)


def floor_divide(lhs: Any, rhs: Any) -> Any:
    """lhs // rhs: the quotient rounded down, as np.floor_divide has it; its gradients are 0."""
    rest = binary("modulo", lhs, rhs)
    if rest is NotImplemented:
        return rest
    like = lhs if isinstance(lhs, NDArray) else rhs
    a, b = (x if isinstance(x, NUMBERS) else operand(x, like) for x in (lhs, rhs))
    return floor_quotient(a, b, rest, None if like.dtype.kind in "iub" else _where)


def _where(condition: NDArray, x: NDArray, y: NDArray) -> Any:
    return invoke("where", (condition.broadcast_to(y.shape), x, y), {})


def in_place_floor_divide(lhs: NDArray, rhs: Any) -> Any:
    """lhs //= rhs."""
    made = floor_divide(lhs, rhs)
    return made if made is NotImplemented else invoke("_copy", (made,), {}, out=lhs)


def rounded(self: NDArray, ndigits: int | None = None) -> Any:
    """round(x, ndigits): halves to even, as np.round does; keeps the dtype."""
    digits = 0 if ndigits is None else ndigits
    if not hasattr(digits, "__index__") or abs(digits.__index__()) > DIGITS:
        raise ParameterError(f"round: ndigits got {shown(ndigits)}, expected an int from "
                             f"{-DIGITS} to {DIGITS}")
    if self.dtype.kind in "iub":
        return self.copy() if digits >= 0 else array(np.round(self.asnumpy(), digits), self.ctx,
                                                     self.dtype)
    if not digits:
        return _to_even(self)
    scale = 10.0 ** abs(digits)
    return _to_even(self * scale) / scale if digits > 0 else _to_even(self / scale) * scale


def _to_even(x: NDArray) -> NDArray:
    """Rounds to integers like MXNet's `rint`, except halves, which that rounds down."""
    nearest: NDArray = invoke("rint", (x,), {})
    even: NDArray = invoke("floor", (x * 0.5 + 0.25,), {}) * 2
    made: NDArray = invoke("where", (binary("equal", abs(x - nearest), 0.5), even, nearest), {})
    return made
