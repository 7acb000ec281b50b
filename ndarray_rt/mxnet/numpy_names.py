"""Names that NumPy has taken away since MXNet programs were written.

Such programs were written for NumPy below 1.24 and say `np.int`, `np.float_` or `np.NaN`. Where
`python -m ndarray_rt.mxnet` runs one, these names mean what they meant then, so that it runs as it
is. `np.fromstring` of bytes, with which programs read files of digits, is among them. Source:
NumPy's release notes of 1.24, 2.0 and 2.3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["restore"]


def _as_float_array(a: Any, dtype: Any = np.float64) -> Any:
    wanted = np.dtype(dtype)
    return np.asarray(a, wanted if np.issubdtype(wanted, np.inexact) else np.float64)


_MEANT: dict[str, Any] = {
    "int": int, "float": float, "complex": complex, "object": object, "str": str, "long": int,
    "unicode": str, "bool": bool,
    "float_": np.float64, "complex_": np.complex128, "singlecomplex": np.complex64,
    "cfloat": np.complex128, "longfloat": np.longdouble, "string_": np.bytes_, "unicode_": np.str_,
    "Inf": np.inf, "Infinity": np.inf, "infty": np.inf, "PINF": np.inf, "NINF": -np.inf,
    "NaN": np.nan, "NAN": np.nan, "PZERO": 0.0, "NZERO": -0.0,
    "product": np.prod, "cumproduct": np.cumprod, "sometrue": np.any, "alltrue": np.all,
    "round_": np.round, "row_stack": np.vstack, "mat": np.asmatrix, "asfarray": _as_float_array,
    "asscalar": lambda a: np.asarray(a).item(),
    "msort": lambda a: np.sort(a, axis=0),
    "in1d": lambda ar1, ar2, **options: np.isin(np.ravel(ar1), ar2, **options),
    "trapz": getattr(np, "trapezoid", None),
}


def _with_bytes(of_text: Callable[..., Any]) -> Callable[..., Any]:
    """`fromstring` that reads bytes where no separator is given; `of_text` reads the others."""
    def fromstring(string: str | bytes, dtype: Any = float, count: int = -1, sep: str = "",
                   **options: Any) -> Any:
        if sep:
            return of_text(string, dtype, count, sep=sep, **options)
        data = string.encode() if isinstance(string, str) else string
        return np.frombuffer(data, dtype, count, **options).copy()
    return fromstring


def _reads_bytes(fromstring: Callable[..., Any]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return bool(fromstring(b"\1", np.uint8).tolist() == [1])
        except ValueError:
            return False


def restore() -> None:
    """Gives NumPy the names back that it lacks in this process; names that it has stay, but for
    `fromstring` where it no longer reads bytes."""
    numpy: Any = np  # its type says that `fromstring` is there to stay as it is
    if not _reads_bytes(numpy.fromstring):
        numpy.fromstring = _with_bytes(numpy.fromstring)
    for name, value in _MEANT.items():
        if name not in np.__dict__ and value is not None:
            setattr(np, name, value)
