"""Floor 3, the operators: importing this package registers them all."""

from . import fused, image, nn, random, rnn, tensor, updates, vision

__all__ = ["fused", "image", "nn", "random", "rnn", "tensor", "updates", "vision"]
