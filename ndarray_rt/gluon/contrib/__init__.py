"""`gluon.contrib`: layers that are not in `gluon.nn`, data sets of text, and the Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...public import loads, shows
from . import cnn, nn, rnn

if TYPE_CHECKING:
    from . import estimator

__all__ = ["cnn", "estimator", "nn", "rnn"]
__dir__ = shows(globals())
__getattr__ = loads(globals(), {"estimator": "estimator"})
