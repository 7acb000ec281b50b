"""NumPy's functions on arrays: np.mean(x), np.concatenate([x, a]) and the like. Records nothing.

Operators between an array and a NumPy array (`a + x`) return arrays of this package, see
imperative/ufuncs.py; functions are NumPy's and return NumPy's results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .interop import asnumpy
from .layout import AnyArray
from .ndarray import NDArray

# functions that read no contents
_FACTS = {np.shape, np.ndim, np.size, np.empty_like, np.zeros_like, np.ones_like}
# called with nothing but an axis, these are the array's own methods
_METHODS: dict[Callable[..., Any], str] = {np.argmax: "argmax", np.argmin: "argmin"}


def array_function(x: NDArray, func: Callable[..., Any], types: Any, args: tuple[Any, ...],
                   kwargs: dict[str, Any]) -> Any:
    """NumPy's `__array_function__`: calls the function on the arrays' contents.

    np.argmax and np.argmin are the arrays' methods, as in MXNet, whose programs call `asnumpy` and
    `asscalar` on the result. All others get read-only copies, so that functions that write to an
    argument, and `out=`, refuse an NDArray instead of writing to the copy.
    """
    method = _METHODS.get(func)
    if method is not None and len(args) in (1, 2) and isinstance(args[0], NDArray) \
            and kwargs.keys() <= {"axis"}:
        return getattr(args[0], method)(*args[1:], **kwargs)
    plain = Plain(_stand_in if func in _FACTS else read_only)
    new_args, new_kwargs = plain(args), plain(kwargs)
    # if any array were left, NumPy would call this function again without end
    return func(*new_args, **new_kwargs) if plain.found else NotImplemented


def read_only(x: NDArray) -> AnyArray:
    """The contents as a new numpy array that refuses writes."""
    made = asnumpy(x)
    made.flags.writeable = False
    return made


def _stand_in(x: NDArray) -> AnyArray:
    """An array with x's shape and dtype, without its contents."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


class Plain:
    """Replaces arrays by numpy arrays, in lists, tuples and dicts too."""

    def __init__(self, convert: Callable[[NDArray], AnyArray]) -> None:
        self._convert = convert
        self.found = False

    def __call__(self, value: Any) -> Any:
        if isinstance(value, NDArray):
            self.found = True
            return self._convert(value)
        if isinstance(value, dict):
            return {key: self(held) for key, held in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, range)):
            made = [self(held) for held in value]
            return tuple(made) if isinstance(value, tuple) else made
        return value
