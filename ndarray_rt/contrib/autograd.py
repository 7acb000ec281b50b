"""MXNet's first interface of autograd, kept for old scripts; `ndarray_rt.autograd` is the newer.

    with contrib.autograd.train_section():
        loss = ...
    contrib.autograd.compute_gradient([loss])

Here one switch stands for recording and training mode together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from .. import autograd as _newer
from .._array.create import zeros
from .._array.ndarray import NDArray
from ..autograd import mark_variables
from ..errors import MXNetError, TypeMismatch
from ..public import shows

__all__ = ["NDArray", "TrainingStateScope", "backward", "compute_gradient", "grad",
           "grad_and_loss", "mark_variables", "set_is_training", "test_section", "train_section"]
__dir__ = shows(globals())


def set_is_training(is_train: bool) -> bool:
    """Switches recording and training mode on or off together; gives the training mode before."""
    _newer.set_recording(is_train)
    return _newer.set_training(is_train)


class TrainingStateScope:
    """Recording and training mode in a `with` block: both on, or both off."""

    def __init__(self, enter_state: bool) -> None:
        self._state = enter_state
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((_newer.set_recording(self._state), _newer.set_training(self._state)))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        recording, training = self._before.pop()
        _newer.set_recording(recording)
        _newer.set_training(training)


def train_section() -> TrainingStateScope:
    """A `with` block whose operator calls are recorded, in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A `with` block inside of a `train_section` that is not recorded, in inference mode."""
    return TrainingStateScope(False)


# pytest takes functions of this name for tests
test_section.__test__ = False  # type: ignore[attr-defined]


def backward(outputs: Sequence[NDArray], out_grads: Sequence[NDArray | None] | None = None,
             retain_graph: bool = False) -> None:
    """Computes the gradients of a list of outputs for all marked variables."""
    if not isinstance(outputs, (list, tuple)):
        raise TypeMismatch("backward: outputs must be a list or tuple of NDArrays, got "
                           f"{type(outputs).__name__}")
    _newer.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """`backward` under its older name."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | Sequence[int] | None = None,
                  ) -> Callable[..., tuple[list[NDArray], Any]]:
    """A function that gives the gradients of `func` for its arguments, and what `func` gives.

    `argnum`: the number of the argument that is differentiated, or a list of them; all otherwise.
    """
    @functools.wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        variables = _chosen(args, argnum)
        grads = [zeros(x.shape, x.ctx, x.dtype) for x in variables]
        mark_variables(variables, grads)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return grads, outputs
    return wrapped


def grad(func: Callable[..., Any], argnum: int | Sequence[int] | None = None,
         ) -> Callable[..., list[NDArray]]:
    """A function that gives the gradients of `func` alone."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: Any) -> list[NDArray]:
        return both(*args)[0]
    return wrapped


def _chosen(args: Sequence[Any], argnum: int | Sequence[int] | None) -> list[NDArray]:
    if argnum is None:
        places: Sequence[int] = range(len(args))
    else:
        places = [argnum] if isinstance(argnum, int) else argnum
    chosen = []
    for i in places:
        if not -len(args) <= i < len(args):
            raise MXNetError(f"grad_and_loss: argnum has {i}, got {len(args)} arguments")
        if not isinstance(args[i], NDArray):
            raise TypeMismatch(f"grad_and_loss: argument {i} must be an NDArray, got "
                               f"{type(args[i]).__name__}; argnum names those to differentiate")
        chosen.append(args[i])
    return chosen
