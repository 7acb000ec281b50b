"""MXNet's module `mx.image.detection`, also `mx.image.det`: images with boxes round objects."""

from __future__ import annotations

from ..public import shows
from . import det_augmenters, det_iterator
from .det_augmenters import *  # noqa: F403 - the names that those modules show
from .det_iterator import *  # noqa: F403

__all__: list[str] = []
__all__ += det_augmenters.__all__
__all__ += det_iterator.__all__
__dir__ = shows(globals())
