"""`gluon.model_zoo`: known networks as blocks."""

from __future__ import annotations

from ...public import shows
from . import model_store, vision

__all__ = ["model_store", "vision"]
__dir__ = shows(globals())
