"""Networks that are known by name: `model_zoo.symbols`."""

from . import symbols as symbols
