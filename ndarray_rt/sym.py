"""`mx.sym`: symbols and a function for each operator. The same names as in `mx.symbol`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import symbol as _symbol
from .symbol import *  # noqa: F403

if TYPE_CHECKING:
    from ._stubs import sym_contrib as contrib  # noqa: F401
    from ._stubs import sym_image as image  # noqa: F401
    from ._stubs import sym_linalg as linalg  # noqa: F401
    from ._stubs.sym import *  # noqa: F403

__all__ = list(_symbol.__all__)
_internal = _symbol.PUBLIC["_internal"]


def __getattr__(name: str) -> Any:
    return getattr(_symbol, name)
