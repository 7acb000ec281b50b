"""Exceptions of gluon that scripts catch by the builtin class that MXNet raises."""

from __future__ import annotations

from ..errors import NdrtError


class Mismatch(NdrtError, AssertionError):
    """Blocks, parameters or files that do not go together; AssertionError in MXNet."""


class WarningAsError(NdrtError, UserWarning):
    """What MXNet raises as a UserWarning, such as the use of a gradient that is not fresh."""


class DeferredInitializationError(NdrtError):
    """A parameter whose shape, and so its data, waits for the first batch of data."""


class NotInitialized(NdrtError):
    """A parameter that has no data, or none on that context."""
