"""What users hand to an executor's methods, checked before anything is done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..errors import NameMismatch, ParameterError, TypeMismatch
from ..ndarray.ndarray import NDArray

F = TypeVar("F", bound=Callable[..., Any])


def check_repeat(what: str, value: Any) -> int:
    """A number of runs; ParameterError unless it is a whole number from 1 up."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{what}: repeat is {value!r}, expected a number from 1 up")
    return value


def check_mapping(what: str, value: Any) -> Mapping[str, Any]:
    """A dict, empty for None; TypeMismatch for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeMismatch(f"{what} got a {type(value).__name__}, expected a dict by name")
    return value


def check_callback(what: str, value: F) -> F:
    """A function or None; TypeMismatch for what can not be called."""
    if value is not None and not callable(value):
        raise TypeMismatch(f"{what} got a {type(value).__name__}, expected a function")
    return value


def find_params(given: Any, bound: Mapping[str, NDArray], what: str,
                allow_extra: bool) -> list[tuple[str, Any, NDArray]]:
    """(name, value, bound array) of parameters by name; NameMismatch for a name that is not bound,
    unless extra ones are allowed."""
    found = []
    for name, value in check_mapping(f"copy_params_from: {what}s", given).items():
        if name in bound:
            found.append((name, value, bound[name]))
        elif not allow_extra:
            raise NameMismatch(f"copy_params_from: {name!r} is no {what} of this symbol")
    return found
