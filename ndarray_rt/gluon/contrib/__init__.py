"""`gluon.contrib`: layers that are not in `gluon.nn`."""

from __future__ import annotations

from ...public import shows
from . import cnn, nn

__all__ = ["cnn", "nn"]
__dir__ = shows(globals())
