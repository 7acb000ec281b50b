"""`gluon.contrib`: layers and samplers that are not in `gluon.nn` and `gluon.data`, and the
Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...public import loads, shows
from . import cnn, nn, rnn

if TYPE_CHECKING:
    from . import data, estimator

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
__dir__ = shows(globals())
__getattr__ = loads(globals(), {"data": "data", "estimator": "estimator"})
