"""`mx.attribute`: attributes for all symbols made in a `with` block."""

from __future__ import annotations

from .public import shows
from .symbol.naming import AttrScope

__all__ = ["AttrScope"]
__dir__ = shows(globals())
