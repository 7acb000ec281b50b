"""Networks that are known by name: `model_zoo.symbols`; `load_torch` with PyTorch's parameters."""

from typing import TYPE_CHECKING

from ..public import loads, shows
from . import symbols

if TYPE_CHECKING:
    from .from_torch import load_torch

__all__ = ["load_torch", "symbols"]
__dir__ = shows(globals())
__getattr__ = loads(globals(), {"load_torch": "from_torch:load_torch"})
