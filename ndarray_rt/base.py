"""`mx.base`: names that scripts written for MXNet take from there."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from .config import get_variable
from .errors import MXNetError
from .op.registry import REGISTRY
from .public import shows
from .symbol.symbol import NotImplementedForSymbol

__all__ = ["MXNetError", "NotImplementedForSymbol", "c_str", "check_call", "data_dir",
           "integer_types", "mx_real_t", "numeric_types", "py_str", "string_types"]
__dir__ = shows(globals())

numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
string_types = (str,)
mx_real_t = np.float32
mx_uint = ctypes.c_uint
mx_float = ctypes.c_float
NDArrayHandle = SymbolHandle = ctypes.c_void_p


def data_dir() -> str:
    """Where data sets and trained parameters are looked for: MXNET_HOME, or ~/.mxnet."""
    return get_variable("MXNET_HOME") or os.path.join(os.path.expanduser("~"), ".mxnet")


def py_str(x: bytes | str) -> str:
    """Text of bytes; text as it is, which monitors are told where MXNet's get bytes."""
    return x.decode("utf-8") if isinstance(x, bytes) else x


def c_str(string: str) -> ctypes.c_char_p:
    """Text for a function of C."""
    return ctypes.c_char_p(string.encode("utf-8"))


def check_call(ret: int) -> None:
    """Raises MXNetError where a function of MXNet's C API did not return 0."""
    if ret != 0:
        raise MXNetError(f"a function of MXNet's C API returned {ret}, expected 0")


class _CApi:
    """What MXNet's programs ask its C API for where Python has no such function. All else is an
    AttributeError: this package has no C API of MXNet's."""

    def MXListAllOpNames(self, size: Any, names: Any) -> int:  # noqa: N802
        """Writes how many names operators have, and makes `names` point to them: both are what
        `ctypes.byref` gives."""
        listed = [name.encode() for name in sorted(REGISTRY.names())]
        array = (ctypes.c_char_p * len(listed))(*listed)
        size._obj.value = len(listed)
        names._obj.contents = ctypes.c_char_p.from_buffer(array)
        return 0

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"mx.base._LIB.{name}: ndarray_rt has no C API of MXNet's but "
                             "MXListAllOpNames")


_LIB = _CApi()


def _as_list(obj: Any) -> list[Any] | tuple[Any, ...]:
    """A list or tuple as it is, anything else as the one element of a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]
