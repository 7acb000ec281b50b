"""Recurrent layers."""

from . import operator

__all__ = ["operator"]
