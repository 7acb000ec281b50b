"""`mx.name`: automatic names of symbols."""

from __future__ import annotations

from .public import shows
from .symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
__dir__ = shows(globals())
