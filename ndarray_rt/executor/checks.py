"""Checks of what users pass to an executor's methods, before anything is done with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .._array.ndarray import NDArray
from ..errors import NameMismatch, ParameterError, TypeMismatch, shown

F = TypeVar("F", bound=Callable[..., Any] | None)


def check_repeat(what: str, value: Any) -> int:
    """A number of runs; ParameterError unless it is an int from 1 up."""
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


def check_arrays(what: str, value: Any) -> dict[str, NDArray]:
    """A dict of arrays, empty for None; TypeMismatch for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeMismatch(f"{what} got a {type(value).__name__}, expected a dict of arrays by "
                           "name")
    for name, array in value.items():
        if not isinstance(array, NDArray):
            raise TypeMismatch(f"{what}[{name!r}] is a {type(array).__name__}, expected an NDArray")
    return value


def check_list(what: str, value: Any, expected: str) -> list[Any]:
    """The items of a list or another iterable; TypeMismatch for anything else.

    A string is refused too: its letters are never what is meant.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeMismatch(f"{what} got {shown(value)}, expected {expected}")
    return list(value)


def check_names(what: str, value: Any) -> list[str]:
    """The names of a list or another iterable; TypeMismatch for anything else, one string too."""
    names = check_list(what, value, "a list of names")
    for name in names:
        if not isinstance(name, str):
            raise TypeMismatch(f"{what} has {shown(name)}, expected a string")
    return names


def check_float(what: str, value: Any) -> float:
    """A number as a float; TypeMismatch for text, and for anything that is not one number."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise TypeMismatch(f"{what} got {shown(value)}, expected a float")


def check_path(what: str, value: Any) -> str:
    """A file name as a string; TypeMismatch unless it is a string or a path of strings.

    ParameterError for a name that no file can have.
    """
    name = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(name, str):
        raise TypeMismatch(f"{what} got {shown(value)}, expected a string or a path")
    try:
        if b"\0" not in os.fsencode(name):
            return name
    except UnicodeEncodeError:
        pass
    raise ParameterError(f"{what} got {shown(name)}, expected a name that a file can have")


def check_callback(what: str, value: F) -> F:
    """A function or None; TypeMismatch for anything that can not be called."""
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
