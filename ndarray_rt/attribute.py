"""`mx.attribute`: attributes for all symbols made in a `with` block."""

from __future__ import annotations

from .symbol.naming import AttrScope

__all__ = ["AttrScope"]
