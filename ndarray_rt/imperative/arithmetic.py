"""Arithmetic and comparisons between arrays and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.create import array
from .._array.dlpack import from_dlpack
from .._array.ndarray import NDArray
from ..errors import TypeMismatch
from ..op.arithmetic import BINARY
from ..op.registry import REGISTRY, OpDef
from .fast_call import call
from .invoke import invoke

NUMBERS = (int, float, np.generic)
_found: dict[str, OpDef] = {}


def _op(name: str) -> OpDef:
    found = _found.get(name)
    if found is None:
        found = _found[name] = REGISTRY.find(name)
    return found


def binary(kind: str, lhs: Any, rhs: Any, out: NDArray | None = None) -> Any:
    """The function `kind` of two arrays or numbers; NotImplemented for anything else.

    An array of NumPy or of another library, such as a torch.Tensor, is converted to the dtype of
    the other operand.
    """
    names = BINARY[kind]
    if isinstance(lhs, NDArray):
        if isinstance(rhs, NDArray):
            name = names.same if lhs.shape == rhs.shape else names.broadcast
            return call(_op(name), (lhs, rhs), {}, out, invoke)
        if isinstance(rhs, NUMBERS):
            return call(_op(names.scalar), (lhs,), {"scalar": _number(rhs)}, out, invoke)
        taken = operand(rhs, lhs)
        return NotImplemented if taken is None else binary(kind, lhs, taken, out)
    if isinstance(rhs, NDArray):
        if isinstance(lhs, NUMBERS):
            return call(_op(names.reflected), (rhs,), {"scalar": _number(lhs)}, out, invoke)
        taken = operand(lhs, rhs)
        return NotImplemented if taken is None else binary(kind, taken, rhs, out)
    if isinstance(lhs, NUMBERS) and isinstance(rhs, NUMBERS):
        return names.python(lhs, rhs)
    return NotImplemented


def operand(value: Any, like: NDArray) -> NDArray | None:
    """`value` as an array with the dtype and device of `like`; None if it is not an array.

    Raises TypeMismatch for an array of another library that does not export its contents.
    """
    if isinstance(value, NDArray):
        return value
    if isinstance(value, np.ndarray):
        return array(value, like.ctx, like.dtype)
    if not hasattr(type(value), "__dlpack__"):
        return None
    try:
        taken = from_dlpack(value)
    except Exception as error:
        # torch's own message says what to do: detach() it, or move it to the CPU
        raise TypeMismatch(f"a {type(value).__module__}.{type(value).__name__} beside an NDArray: "
                           f"{error}") from error
    return array(taken, like.ctx, like.dtype)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def function(kind: str) -> Callable[..., Any]:
    """nd.add and others: of arrays and numbers on either side."""

    def of(lhs: Any, rhs: Any) -> Any:
        made = binary(kind, lhs, rhs)
        if made is NotImplemented:
            raise TypeMismatch(f"{kind}: types {type(lhs).__name__} and {type(rhs).__name__} are "
                               "not supported; arrays and numbers are")
        return made
    of.__name__ = of.__qualname__ = kind
    of.__doc__ = (f"{kind} of two arrays (broadcast), an array and a number, or two numbers.\n\n"
                    f"Operators: {BINARY[kind].broadcast}, {BINARY[kind].scalar}.")
    return of
