"""Steps of optimizers. Importing this package registers them all."""

from . import adaptive, adamw, lamb, many, momentum, norms

__all__ = ["adamw", "adaptive", "lamb", "many", "momentum", "norms"]
