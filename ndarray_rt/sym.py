"""`mx.sym`: MXNet's short name of `mx.symbol`, the same module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import symbol as _symbol
from .public import renames

if TYPE_CHECKING:
    from .symbol import *  # noqa: F403
    from .symbol import _internal as _internal
else:
    renames(_symbol, __name__)
