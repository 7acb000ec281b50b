"""Steps of optimizers. Importing this package registers them all."""

from . import adamw, adaptive, group_adagrad, lamb, many, momentum, norms

__all__ = ["adamw", "adaptive", "group_adagrad", "lamb", "many", "momentum", "norms"]
