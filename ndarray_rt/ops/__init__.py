"""Floor 3, the operators: importing this package registers them all."""

from . import fused, nn, rnn, tensor, updates, vision

__all__ = ["fused", "nn", "rnn", "tensor", "updates", "vision"]
