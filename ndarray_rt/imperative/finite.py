"""nd.contrib.isinf, isfinite and isnan: 1 or 0 for each element, in the array's dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._array.ndarray import NDArray
from ..errors import TypeMismatch, shown
from .invoke import invoke


def _checked(what: str, data: Any) -> NDArray:
    if not isinstance(data, NDArray):
        raise TypeMismatch(f"{what}: data got {shown(data)}, expected an NDArray")
    return data


def isinf(data: NDArray) -> Any:
    """1 where an element is infinite, else 0. Source: MXNet's nd.contrib.isinf."""
    size = invoke("abs", (_checked("isinf", data),), {})
    return invoke("_equal_scalar", (size,), {"scalar": math.inf})


def isnan(data: NDArray) -> Any:
    """1 where an element is NaN, else 0. Source: MXNet's nd.contrib.isnan."""
    return invoke("_not_equal", (_checked("isnan", data), data), {})


def isfinite(data: NDArray) -> Any:
    """1 where an element is neither infinite nor NaN, else 0. Source: MXNet's nd.contrib.isfinite.
    """
    size = invoke("abs", (_checked("isfinite", data),), {})
    # NaN compares as not less
    return invoke("_lesser_scalar", (size,), {"scalar": math.inf})


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isfinite": isfinite, "isinf": isinf, "isnan": isnan}
