"""`mx.error`: exceptions by name. Those that this package raises are in `errors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import MXNetError, NativeError
from .public import shows

__all__ = ["InternalError", "MXNetError", "register"]
__dir__ = shows(globals())

# what a fault of the native layer itself raises
InternalError = NativeError

_BY_NAME: dict[str, type[BaseException]] = {
    kind.__name__: kind for kind in (InternalError, ValueError, TypeError, AttributeError,
                                     IndexError, NotImplementedError)}


def register(func_name: str | type[BaseException] | None = None,
             cls: type[BaseException] | None = None) -> Any:
    """Registers a class of exceptions by its name, or by the one that is given.

    A decorator, with or without a name: `@register`, `@register("Name")`, `register("Name", cls)`.
    MXNet makes exceptions from texts of its C++ side by these names; here they are raised as they
    are, and the names are only kept.
    """
    if isinstance(func_name, type):
        cls, func_name = func_name, func_name.__name__

    def add(kind: type[BaseException]) -> type[BaseException]:
        _BY_NAME[func_name if isinstance(func_name, str) else kind.__name__] = kind
        return kind
    made: Callable[[type[BaseException]], type[BaseException]] | type[BaseException] = (
        add if cls is None else add(cls))
    return made
