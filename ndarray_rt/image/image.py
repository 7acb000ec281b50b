"""MXNet's module `mx.image.image`: reading, sizes, augmenters, ImageIter."""

from __future__ import annotations

from ..public import shows
from . import augmenters, geometry, iterator, read
from .augmenters import *  # noqa: F403 - the names that those modules show
from .geometry import *  # noqa: F403
from .geometry import interpolation
from .iterator import *  # noqa: F403
from .read import *  # noqa: F403

# others import it from here
_get_interp_method = interpolation

__all__: list[str] = []
__all__ += augmenters.__all__
__all__ += geometry.__all__
__all__ += iterator.__all__
__all__ += read.__all__
__dir__ = shows(globals())
