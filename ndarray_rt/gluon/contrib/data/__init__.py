"""`gluon.contrib.data`: a sampler, and text for language models."""

from __future__ import annotations

from ....public import shows
from . import sampler, text
from .sampler import IntervalSampler

__all__ = ["IntervalSampler", "sampler", "text"]
__dir__ = shows(globals())
