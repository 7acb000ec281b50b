"""Floor 3, the operators: importing this package registers them all."""

from . import nn, tensor, updates

__all__ = ["nn", "tensor", "updates"]
