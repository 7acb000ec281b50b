"""Floor 3, the operators: importing this package registers them all."""

from . import fused, nn, random, rnn, tensor, updates

__all__ = ["fused", "nn", "random", "rnn", "tensor", "updates"]
