"""`mx.util`: switches of the front ends, and variables of the environment."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .config import get_variable, set_variable
from .errors import shown
from .np_shape import is_np_shape, np_shape, set_np_shape
from .public import shows

__all__ = ["getenv", "is_np_array", "is_np_shape", "np_shape", "set_np_shape", "setenv",
           "use_np_shape"]
__dir__ = shows(globals())

T = TypeVar("T", bound=Callable[..., Any])


def use_np_shape(func: T) -> T:
    """A decorator: the function, or the methods and properties of the class, run under np_shape.

    >>> @use_np_shape
    ... def unknown(shape):
    ...     return is_np_shape() and -1 in shape
    >>> unknown((2, -1)), is_np_shape()
    (True, False)
    """
    if isinstance(func, type):
        for name, value in list(vars(func).items()):
            made = _member(value)
            if made is not value:
                setattr(func, name, made)
        return func
    if not callable(func):
        raise TypeError("use_np_shape decorates classes and functions, got "
                        f"{shown(func)} of type {type(func).__name__}")

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with np_shape(True):
            return func(*args, **kwargs)
    return cast(T, scoped)


def _member(value: Any) -> Any:
    """What stands for a member of a class: functions and properties are wrapped."""
    if isinstance(value, property):
        parts: list[Any] = [None if part is None else use_np_shape(part)
                            for part in (value.fget, value.fset, value.fdel)]
        fget, fset, fdel = parts
        return property(fget, fset, fdel, value.__doc__)
    if isinstance(value, (staticmethod, classmethod)):
        return type(value)(use_np_shape(value.__func__))
    return use_np_shape(value) if callable(value) and not isinstance(value, type) else value


def is_np_array() -> bool:
    """False: arrays are NDArrays always, there is no `mx.np`."""
    return False


def getenv(name: str) -> str | None:
    """A variable of the environment, None when it is not set."""
    return get_variable(name)


def setenv(name: str, value: str | None) -> None:
    """Sets a variable of the environment; None removes it. Switches (`NDRT_...`) take effect."""
    set_variable(name, value)
