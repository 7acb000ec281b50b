"""`gluon.contrib`: layers that are not in `gluon.nn`."""

from __future__ import annotations

from ...public import shows
from . import cnn, nn, rnn

__all__ = ["cnn", "nn", "rnn"]
__dir__ = shows(globals())
