"""Floor 3, the operators: importing this package registers them all."""

from . import fused, image, linalg, nn, random, rnn, tensor, updates, vision

__all__ = ["fused", "image", "linalg", "nn", "random", "rnn", "tensor", "updates", "vision"]
