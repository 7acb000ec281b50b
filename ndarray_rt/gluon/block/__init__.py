"""`gluon.block`: blocks, the pieces that networks are put together from."""

from __future__ import annotations

from ...public import shows
from .block import Block
from .formats import flatten as _flatten  # noqa: F401 - other packages import it from here
from .hybrid_block import HybridBlock
from .scope import BlockScope as _BlockScope  # noqa: F401 - other packages import it from here
from .symbol_block import SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
__dir__ = shows(globals())
