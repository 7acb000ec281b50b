"""`mx.util`: switches of the front ends, and variables of the environment."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from .config import get_variable, set_variable
from .context import Context, gpu_memory_info, num_gpus
from .errors import SEE_PORTING, ParameterError, Unsupported, shown
from .np_shape import is_np_shape, np_shape, set_np_shape
from .public import shows

__all__ = ["get_cuda_compute_capability", "get_gpu_count", "get_gpu_memory", "getenv",
           "is_np_array", "is_np_shape", "np_array", "np_shape", "reset_np", "set_module", "set_np",
           "set_np_shape", "setenv", "use_np", "use_np_array", "use_np_shape"]
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


class _NumpyArrayScope:
    """What np_array gives, by the name that MXNet's own scripts import."""

    def __init__(self, is_np_array: bool) -> None:
        self._is_np_array = is_np_array

    def __enter__(self) -> _NumpyArrayScope:
        _refuse_np_arrays("np_array", self._is_np_array)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Nothing is there to be put back."""


def np_array(active: bool = True) -> _NumpyArrayScope:
    """A `with` block without `mx.np` arrays, as all are; entering raises Unsupported for `active`.
    """
    return _NumpyArrayScope(active)


def set_np(shape: bool = True, array: bool = True) -> None:
    """Sets np_shape, where `array` is false; Unsupported where it is true."""
    _refuse_np_arrays("set_np", array)
    set_np_shape(shape)


def reset_np() -> None:
    """Shapes and arrays are MXNet's classic ones again."""
    set_np_shape(False)


def use_np_array(func: T) -> T:
    """Raises Unsupported: there are no `mx.np` arrays."""
    _refuse_np_arrays("use_np_array", True)
    return func


def use_np(func: T) -> T:
    """Raises Unsupported: there are no `mx.np` arrays. `use_np_shape` is the part that is here."""
    _refuse_np_arrays("use_np", True)
    return func


def _refuse_np_arrays(function: str, active: bool) -> None:
    if active:
        raise Unsupported(f"{function}: arrays of mx.np are not here; {SEE_PORTING}")


def set_module(module: str | None) -> Callable[[Any], Any]:
    """A decorator that says which module a function or a class shows itself to be of."""
    def decorate(func: Any) -> Any:
        if module is not None:
            func.__module__ = module
        return func
    return decorate


def get_gpu_count() -> int:
    """0: there is none."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total bytes of a GPU: raises MXNetError, as there is none."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Context) -> int:
    """Raises ParameterError, a ValueError, for a context that is no GPU, MXNetError for one."""
    if ctx.device_type != "gpu":
        raise ParameterError("Expecting a gpu context to get cuda compute capability, while "
                             f"received ctx {ctx}")
    ctx.check()
    raise AssertionError(ctx)


def getenv(name: str) -> str | None:
    """A variable of the environment, None when it is not set."""
    return get_variable(name)


def setenv(name: str, value: str | None) -> None:
    """Sets a variable of the environment; None removes it. Switches (`NDRT_...`) take effect."""
    set_variable(name, value)
