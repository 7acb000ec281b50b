"""Interfaces that MXNet keeps apart from the rest, and the operators called _contrib_... again."""

from .. import nd as _nd
from .. import sym as _sym
from . import autograd

nd = ndarray = _nd.contrib
sym = symbol = _sym.contrib

__all__ = ["autograd", "nd", "ndarray", "sym", "symbol"]
