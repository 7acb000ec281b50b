"""Calling a user's monitor with what a run computes."""

from __future__ import annotations

from collections.abc import Callable

from .._array.ndarray import NDArray
from .program.program import Watch
from .program.step import BoundStep

Monitor = Callable[[str, NDArray], object]
# the names of an array and of its operator as bytes, and the array
OpHook = Callable[[bytes, bytes, NDArray], None]


def watching(monitor: Monitor, with_inputs: bool) -> Watch:
    """A watch that calls `monitor` with the outputs of each step, and if wanted its inputs before.

    An input that is a variable is passed twice, as in MXNet: by the variable's name and by its own.
    """
    def watch(step: BoundStep, has_run: bool) -> None:
        if not has_run:
            if with_inputs:
                show_inputs(step)
            return
        for name, array in step.seen():
            monitor(name, array)

    def show_inputs(step: BoundStep) -> None:
        for array, variable, name in zip(step.ins, step.in_variables, step.in_names, strict=True):
            if variable is not None:
                monitor(variable, array)
            monitor(name, array)
    return watch


def watching_ops(hook: OpHook, with_inputs: bool) -> Watch:
    """A watch for a hook of a CachedOp: like `watching`, but passes each input once, by its
    name."""
    def watch(step: BoundStep, has_run: bool) -> None:
        operator = step.op.name.encode()
        if has_run:
            for name, array in step.seen():
                hook(name.encode(), operator, array)
        elif with_inputs:
            for array, name in zip(step.ins, step.in_names, strict=True):
                hook(name.encode(), operator, array)
    return watch
