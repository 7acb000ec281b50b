"""`mx.ndarray`: MXNet's long name of `mx.nd`, the same module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import nd as _nd
from .public import renames

if TYPE_CHECKING:
    from .nd import *  # noqa: F403
    from .nd import _internal as _internal
else:
    renames(_nd, __name__)
