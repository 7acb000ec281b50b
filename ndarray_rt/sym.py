"""`mx.sym`: symbols and a function for each operator. The same names as in `mx.symbol`."""

from __future__ import annotations

from typing import Any

from . import symbol as _symbol
from .symbol import *  # noqa: F403

__all__ = list(_symbol.__all__)
_internal = _symbol.PUBLIC["_internal"]


def __getattr__(name: str) -> Any:
    return getattr(_symbol, name)
