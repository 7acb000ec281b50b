"""Cases that nobody wrote: calls of the table with other shapes, where shape inference takes them.

Which operators bear any shape is not listed: each known call is probed with arrays of rank 0 to 12,
without elements or with few, and with each of its own dims set to 0. What `infer_shape` accepts
is a case; the rest is refused with the reason that it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ..errors import NdrtError
from ..op.infer import known, run_infer_shape
from ..op.params import Params
from ..op.registry import OpDef, find
from .case import Case, Input, as_input

Shape = tuple[int, ...]
RANKS = range(1, 13)
SMALL_DIMS = (2, 3, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1)
EMPTY: tuple[Shape, ...] = ((0,), (2, 0, 3), (0, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1))
# of calls that differ in parameters alone so many are probed for each operator
CALLS = 6


def probes(first: Shape) -> Iterator[tuple[str, Shape]]:
    """(name, shape) to try for the first input of a call that has `first` there."""
    yield "rank 0", ()
    for shape in EMPTY:
        yield f"empty of rank {len(shape)}", shape
    for axis in range(len(first)):
        yield f"axis {axis} empty", (*first[:axis], 0, *first[axis + 1:])
    for rank in RANKS:
        yield f"rank {rank}", SMALL_DIMS[:rank]
        yield f"rank {rank} of ones", (1,) * rank


def known_calls(cases: Iterable[Case]) -> list[Case]:
    """One case for each operator and choice of parameters, a few for each operator."""
    found: dict[str, dict[Any, Case]] = {}
    for case in cases:
        op = find(case.op)
        if not case.inputs:
            continue
        calls = found.setdefault(op.name, {})
        key = (repr(op.params.parse(dict(case.params), case.op)), len(case.all_inputs()))
        if key not in calls and len(calls) < CALLS:
            calls[key] = case
    return [case for calls in found.values() for case in calls.values()]


def derived(case: Case) -> Iterator[tuple[str, Case | str]]:
    """(name, case) for each probe that inference takes, (name, reason) for each other one."""
    op = find(case.op)
    params = op.params.parse(dict(case.params), case.op)
    inputs = case.all_inputs()
    seen = {tuple(given.shape for given in inputs)}
    for name, probe in probes(inputs[0].shape):
        try:
            shapes = completed(op, params, [given.shape for given in inputs], probe)
        except NdrtError as error:
            yield name, str(error)
            continue
        if tuple(shapes) in seen:
            continue
        seen.add(tuple(shapes))
        yield name, _with_shapes(case, shapes, name)


def completed(op: OpDef, params: Params, shapes: Sequence[Shape], probe: Shape) -> list[Shape]:
    """Shapes of all inputs where the first has the probe's; raises why there are none."""
    axes = [a for a, dim in enumerate(probe) if dim == 0 and len(probe) == len(shapes[0])
            and shapes[0][a] != 0]
    same = [probe if shape == shapes[0] else shape for shape in shapes]
    aligned = [tuple(0 if a in axes and dim == shapes[0][a] else dim
                     for a, dim in enumerate(shape)) if len(shape) == len(probe) else shape
               for shape in shapes[1:]]
    tries: list[list[Shape | None]] = [
        [probe, *[None] * (len(shapes) - 1)], [*same], [probe, *aligned], [probe] * len(shapes)]
    refusal: NdrtError | None = None
    for tried in tries:
        try:
            ins, outs = run_infer_shape(op, params, tried, [None] * len(op.output_names(params)))
        except NdrtError as error:
            refusal = refusal or error
            continue
        if all(known(shape) for shape in (*ins, *outs)) and ins[0] == probe:
            return [tuple(shape) for shape in ins if shape is not None]
    raise refusal or NdrtError(f"{op.name}: shapes do not follow from {probe}")


def _with_shapes(case: Case, shapes: Sequence[Shape], name: str) -> Case:
    """The case with other shapes, contents drawn in the same way, and no reference."""
    given = [as_input(value) for value in (*case.inputs, *case.aux)]
    made = [_resized(one, shape) for one, shape in zip(given, shapes, strict=True)]
    count = len(case.inputs)
    return replace(case, inputs=made[:count], aux=made[count:], reference=None, check=None,
                   after=None, gradients=None, native="auto", native_backward="auto",
                   exact=False, layouts=None, note=name)


def _resized(given: Input, shape: Shape) -> Input:
    if given.values is None or given.shape == shape:
        return replace(given, shape=shape)
    if prod(shape) == 0:
        return replace(given, shape=shape, values=np.zeros(shape))
    return replace(given, shape=shape, values=np.resize(np.asarray(given.values), shape))
