"""Where and how tests run: context, environment, repetition."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, TypeVar

from .. import config, context
from ..context import Context, current_context
from ..runtime import Features

F = TypeVar("F", bound=Callable[..., Any])


def default_context() -> Context:
    """The context that tests use: the current one."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes a context the current one of this thread, outside of any `with`.

    A GPU is refused where something is to be put on it, as in a `with`.
    """
    context.set_current(ctx)


def list_gpus() -> range:
    """No GPU: an empty range."""
    return range(0)


def is_op_runnable() -> bool:
    """True: on CPUs every operator can run."""
    return True


def has_tvm_ops() -> bool:
    """False: there are no operators of TVM."""
    return Features().is_enabled("TVM_OP")


def assert_raises_cudnn_not_satisfied(min_version: str = "") -> Callable[[F], F]:
    """A decorator that leaves the test as it is: there is no cuDNN to ask for."""
    def decorate(test: F) -> F:
        return test
    return decorate


def retry(n: int) -> Callable[[F], Callable[..., None]]:
    """A decorator for tests of random things: up to n attempts, one must pass."""
    if n <= 0:
        raise AssertionError(f"retry: {n} attempts")

    def decorate(test: F) -> Callable[..., None]:
        @wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            for attempt in range(n):
                try:
                    test(*args, **kwargs)
                    return
                except AssertionError:
                    if attempt == n - 1:
                        raise
        return wrapper
    return decorate


def environment(*args: Any) -> AbstractContextManager[None]:
    """Environment variables inside a `with` block: a name and a value, or a dict of them.

    None takes a variable away. Switches of this package (NDRT_...) take effect inside the block.
    """
    if len(args) == 1 and isinstance(args[0], Mapping):
        return config.environment(args[0])
    if len(args) != 2:
        raise AssertionError("environment takes one dict, or a name and a value")
    return config.environment({args[0]: args[1]})


def set_env_var(key: str, val: str, default_val: str = "") -> str:
    """Sets an environment variable and gives the value it had before, `default_val` for none."""
    return config.set_variable(key, val) or default_val


class EnvManager:
    """`environment` as a class: `with EnvManager(name, value):`."""

    def __init__(self, key: str, val: str | None) -> None:
        self._key = key
        self._value = val
        self._block: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        self._block = config.environment({self._key: self._value})
        self._block.__enter__()

    def __exit__(self, *error: Any) -> None:
        assert self._block is not None
        self._block.__exit__(*error)


@contextmanager
def discard_stderr() -> Iterator[None]:
    """Whatever goes to the standard error inside the block is lost, from C too."""
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError):
        # a stream of Python's own, such as a test runner's, has no number
        yield
        return
    sys.stderr.flush()
    kept = os.dup(number)
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), number)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, number)
        os.close(kept)


def is_aarch64_run() -> bool:
    """Is this a 64-bit ARM machine?"""
    return platform.machine() == "aarch64"


def is_cd_run() -> bool:
    """Does the environment say that this is a run of continuous delivery (CD_JOB is 1)?"""
    return config.get_variable("CD_JOB") == "1"
