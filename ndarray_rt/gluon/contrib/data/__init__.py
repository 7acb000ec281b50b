"""`gluon.contrib.data`: samplers that are not in `gluon.data`."""

from __future__ import annotations

from ....public import shows
from .sampler import IntervalSampler

__all__ = ["IntervalSampler"]
__dir__ = shows(globals())
