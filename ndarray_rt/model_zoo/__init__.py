"""Networks that are known by name: `model_zoo.symbols`."""

from ..public import shows
from . import symbols

__all__ = ["symbols"]
__dir__ = shows(globals())
