"""Interfaces that MXNet keeps apart from the rest, and the operators called _contrib_... again."""

from typing import Any

from .. import nd as _nd
from .. import sym as _sym
from ..public import shows
from . import autograd

nd: Any = vars(_nd)["contrib"]
sym: Any = vars(_sym)["contrib"]
ndarray, symbol = nd, sym

__all__ = ["autograd", "nd", "ndarray", "sym", "symbol"]
__dir__ = shows(globals())
