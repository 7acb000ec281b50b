"""`mx.base`: names that scripts written for MXNet take from there."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .config import get_variable
from .errors import MXNetError
from .public import shows
from .symbol.symbol import NotImplementedForSymbol

__all__ = ["MXNetError", "NotImplementedForSymbol", "data_dir", "integer_types", "mx_real_t",
           "numeric_types", "py_str", "string_types"]
__dir__ = shows(globals())

numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
string_types = (str,)
mx_real_t = np.float32


def data_dir() -> str:
    """Where data sets and trained parameters are looked for: MXNET_HOME, or ~/.mxnet."""
    return get_variable("MXNET_HOME") or os.path.join(os.path.expanduser("~"), ".mxnet")


def py_str(x: bytes | str) -> str:
    """Text of bytes; text as it is, which monitors are told where MXNet's get bytes."""
    return x.decode("utf-8") if isinstance(x, bytes) else x


def _as_list(obj: Any) -> list[Any] | tuple[Any, ...]:
    """A list or tuple as it is, anything else as the one element of a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]
