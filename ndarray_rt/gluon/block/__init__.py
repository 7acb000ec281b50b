"""`gluon.block`: blocks, the pieces that networks are put together from."""

from __future__ import annotations

from ...public import shows
from .block import Block
from .formats import flatten
from .hybrid_block import HybridBlock
from .scope import BlockScope
from .symbol_block import SymbolBlock

# other packages import them from here
_flatten, _BlockScope = flatten, BlockScope

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
__dir__ = shows(globals())
