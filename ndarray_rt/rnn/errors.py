"""Exceptions of cells that scripts catch by the builtin class that MXNet raises."""

from __future__ import annotations

from ..errors import NdrtError


class CellError(NdrtError, AssertionError):
    """Cells, sequences or layouts that do not go together; AssertionError in MXNet."""
