"""Interfaces that MXNet keeps apart from the rest."""

from . import autograd

__all__ = ["autograd"]
