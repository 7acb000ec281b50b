"""`gluon.contrib`: layers that are not in `gluon.nn`."""

from __future__ import annotations

from ...public import shows
from . import nn

__all__ = ["nn"]
__dir__ = shows(globals())
