"""Steps of optimizers. Importing this package registers them all."""

from . import adamw, adaptive, lamb, many, momentum, norms

__all__ = ["adamw", "adaptive", "lamb", "many", "momentum", "norms"]
