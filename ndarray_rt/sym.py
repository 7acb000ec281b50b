"""`mx.sym`: symbols and a function for each operator. The same names as in `mx.symbol`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import symbol as _symbol
from .symbol import *  # noqa: F403

if TYPE_CHECKING:
    from ._stubs import sym_contrib, sym_image, sym_linalg
    from ._stubs.sym import *  # noqa: F403

    # names of this module, which `import ... as` does not make for type checkers
    contrib, image, linalg = sym_contrib, sym_image, sym_linalg

__all__ = list(_symbol.__all__)
_internal = _symbol.PUBLIC["_internal"]


def __getattr__(name: str) -> Any:
    return getattr(_symbol, name)
