"""`contrib.text`: words as numbers and as vectors. Source: MXNet's `mx.contrib.text`."""

from __future__ import annotations

from ...public import shows
from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
__dir__ = shows(globals())
