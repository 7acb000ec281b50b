"""Calling a user's monitor with what a run computes."""

from __future__ import annotations

from collections.abc import Callable

from ..ndarray.ndarray import NDArray
from ..ndarray.req import Req
from .bound_step import BoundStep
from .program import Watch

Monitor = Callable[[str, NDArray], None]


def watching(monitor: Monitor, with_inputs: bool) -> Watch:
    """What calls `monitor` with the outputs of each step, and its inputs before it if wanted."""
    def watch(step: BoundStep, has_run: bool) -> None:
        if not has_run:
            for array, name in zip(step.ins if with_inputs else (), step.in_names,
                                   strict=with_inputs):
                monitor(name, array)
            return
        for array, name, req in zip(step.outs, step.out_names, step.reqs, strict=True):
            if req != Req.kNullOp:
                monitor(name, array)
    return watch
