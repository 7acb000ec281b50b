"""`mx.ndarray`: MXNet's long name of `mx.nd`, the same module."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from . import nd as _nd

if TYPE_CHECKING:
    from .nd import *  # noqa: F403
else:
    sys.modules[__name__] = _nd
    for _space in ("_internal", "contrib", "image", "linalg", "op", "random", "sparse"):
        sys.modules[f"{__name__}.{_space}"] = getattr(_nd, _space)
