"""Exceptions of text that scripts catch by the builtin class that MXNet raises."""

from __future__ import annotations

from ...errors import NdrtError


class TextError(NdrtError, AssertionError):
    """Tokens, vectors or files that do not go together; AssertionError in MXNet."""
