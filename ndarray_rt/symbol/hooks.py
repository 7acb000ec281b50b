"""Functions that higher floors provide to symbols: binding and evaluating. Imports none of them.

The executor's package calls `provide` when it is imported; `Symbol.bind` and others use them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import NdrtError

# "bind", "simple_bind" and "eval": functions whose first argument is the symbol
_table: dict[str, Callable[..., Any]] = {}


def provide(**functions: Callable[..., Any]) -> None:
    """Sets hooks by name; a later one replaces an earlier one."""
    _table.update(functions)


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls a hook; NdrtError if the package that provides it was not imported."""
    function = _table.get(name)
    if function is None:
        raise NdrtError(f"Symbol.{name} is provided by ndarray_rt.executor: import ndarray_rt")
    return function(*args, **kwargs)
