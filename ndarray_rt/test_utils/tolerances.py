"""How near is near enough, by dtype: MXNet's numbers."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

DType = np.dtype[Any]
Tolerance = float | Mapping[Any, float] | None

_FLOAT64 = np.dtype(np.float64)
_RTOLS = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-5}
_ATOLS = {"float16": 1e-1, "float32": 1e-3, "float64": 1e-20}
_EXACT = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")
# of finite differences; powers of two, so that adding them loses no bits
_EPS = {"float16": 2.0**-6, "float32": 2.0**-9, "float64": 2.0**-14}


def default_dtype() -> type[np.float32]:
    """float32."""
    return np.float32


def _by_dtype(floats: Mapping[str, float], exact: bool = True) -> dict[DType, float]:
    table = {np.dtype(name): value for name, value in floats.items()}
    if exact:
        table.update({np.dtype(name): 0 for name in _EXACT})
    return table


def default_rtols() -> dict[DType, float]:
    """Relative tolerances by dtype; 0 for whole numbers."""
    return _by_dtype(_RTOLS)


def default_atols() -> dict[DType, float]:
    """Absolute tolerances by dtype; 0 for whole numbers."""
    return _by_dtype(_ATOLS)


def default_numeric_eps() -> dict[DType, float]:
    """Steps of finite differences by dtype."""
    return _by_dtype(_EPS, exact=False)


def effective_dtype(dat: Any) -> DType:
    """The dtype that tells the tolerance of an array."""
    found: DType = np.dtype(dat.dtype)
    return found


def get_tolerance(dat: Any, tol: Tolerance, default_tol: Mapping[DType, float]) -> float:
    """`tol` itself when it is a number, else its entry for dat's dtype, else the default's."""
    if isinstance(tol, numbers.Real):
        return float(tol)
    dtype = effective_dtype(dat)
    given = tol.get(dtype) if isinstance(tol, Mapping) else None
    return default_tol[dtype] if given is None else given


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """(rtol, atol) for comparing x and y: the larger one of the two where they differ."""
    both = [np.array(v) if isinstance(v, numbers.Number) else v for v in (x, y)]
    return (max(get_tolerance(v, rtol, default_rtols()) for v in both),
            max(get_tolerance(v, atol, default_atols()) for v in both))


def get_atol(atol: float | None = None, dtype: DType = _FLOAT64) -> float:
    """The absolute tolerance of a dtype unless one is given."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_rtol(rtol: float | None = None, dtype: DType = _FLOAT64) -> float:
    """The relative tolerance of a dtype unless one is given."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_etol(etol: float | None = None) -> float:
    """The share of elements that may be wrong: 0 unless given."""
    return 0 if etol is None else etol
