"""Gradients: the operator's own against finite differences, and its backward calls as subjects.

Finite differences run in float64 on the numpy path. What they have shown to be right is then the
reference for oneDNN's backward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._array.copy import read_numpy, write_numpy
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..dtypes import is_float
from ..op.infer import run_infer_shape, run_infer_type
from ..op.params import Params
from ..op.registry import OpDef, find
from .case import Array, Case, Input
from .compare import assert_close
from .differences import Steps, assert_slopes
from .runtimes import NumpyRuntime
from .subject import Subject, subject_of, widen

KINK = 1e-3


@dataclass
class Call:
    """One operator call that a gradient made, with contents as they were before it."""

    op: OpDef
    params: Params
    values: list[Array]


@dataclass
class ImmediateNode:
    """What a gradient function may ask of a node, over arrays."""

    params: Any
    inputs: Sequence[NDArray]
    outputs: Sequence[NDArray]


@dataclass
class ImmediateEmit:
    """Runs what a gradient function emits, at once, and keeps a list of it."""

    runtime: NumpyRuntime
    calls: list[Call] = field(default_factory=list)

    def __call__(self, op: str, params: Params | Mapping[str, object] | None,
                 *inputs: NDArray) -> list[NDArray]:
        definition = find(op)
        if params is None:
            params = definition.params()
        elif not isinstance(params, Params):
            params = definition.params.parse(dict(params), op)
        stream = self.runtime.ctx.stream
        self.calls.append(Call(definition, params, [read_numpy(x, stream) for x in inputs]))
        return run_op(self.runtime, definition, params, inputs)

    def zeros_like(self, entry: NDArray) -> NDArray:
        made = new_array(entry.shape, entry.dtype)
        write_numpy(made, np.zeros(entry.shape, entry.dtype), self.runtime.ctx.stream)
        return made


def run_op(runtime: NumpyRuntime, op: OpDef, params: Params,
           ins: Sequence[NDArray]) -> list[NDArray]:
    """All outputs of a call."""
    unknown: list[None] = [None] * len(op.output_names(params))
    shapes = run_infer_shape(op, params, [x.shape for x in ins], unknown)[1]
    types = run_infer_type(op, params, [x.dtype for x in ins], unknown)[1]
    outs = []
    for shape, dtype in zip(shapes, types, strict=True):
        assert shape is not None, f"{op.name}: output shapes unknown"
        assert dtype is not None, f"{op.name}: output dtypes unknown"
        outs.append(new_array(tuple(shape), dtype))
    runtime.run(op, params, ins, outs, [Req.kWriteTo] * len(outs))
    return outs


def arrays_of(values: Sequence[Array], runtime: NumpyRuntime) -> list[NDArray]:
    made = []
    for value in values:
        array = new_array(value.shape, value.dtype)
        write_numpy(array, value, runtime.ctx.stream)
        made.append(array)
    return made


class Slope:
    """The gradient of one case, in one dtype, on the numpy path."""

    def __init__(self, case: Case, dtype: str) -> None:
        self.case = case
        self.subject: Subject = subject_of(case, dtype)
        self.op, self.params = self.subject.op, self.subject.params
        self.runtime = NumpyRuntime(is_train=True)
        rng = np.random.default_rng(3)
        self.weights: list[Array] = []  # the gradients of the visible outputs
        for shape, out_dtype in zip(self.subject.out_shapes, self.subject.out_dtypes, strict=True):
            draw = rng.uniform(0.5, 1.5, shape) * np.where(rng.random(shape) < 0.5, -1, 1)
            self.weights.append(draw.astype(out_dtype))
        self.visible = self.op.num_visible(self.params)
        widths = [t.itemsize for t in self.subject.out_dtypes[:self.visible] if is_float(t)]
        # outputs of a narrow dtype whatever the inputs are: only wide steps show through rounding
        self.eps, self.rtol = {2: (0.125, 2e-2), 4: (0.125, 1e-4)}.get(
            min(widths, default=8), (case.grad_eps, case.grad_rtol))
        # what inputs hold after forward and backward, where one of them writes to them
        self.after: dict[int, Array] = {}

    def own(self) -> tuple[list[Array | None], list[Call]]:
        """What the operator says: a gradient or None for each input, and the calls it took."""
        assert self.op.gradient is not None
        runtime = self.runtime
        ins = arrays_of(self.subject.values, runtime)
        outs = run_op(runtime, self.op, self.params, ins)
        heads: list[NDArray | None] = list(arrays_of(self.weights[:self.visible], runtime))
        heads += [None] * (len(outs) - self.visible)
        emit = ImmediateEmit(runtime)
        grads = list(self.op.gradient(emit, ImmediateNode(self.params, ins, outs), heads))
        grads += [None] * (len(ins) - len(grads))
        stream = runtime.ctx.stream
        for i, x in enumerate(ins):
            now = read_numpy(x, stream)
            if now.tobytes() != self.subject.values[i].tobytes():
                self.after[i] = now
        return [None if g is None else read_numpy(g, stream) for g in grads], emit.calls

    def value(self, values: list[Array]) -> float:
        """The weighted sum of the visible outputs."""
        runtime = self.runtime
        outs = run_op(runtime, self.op, self.params, arrays_of(values, runtime))
        total = 0.0
        for out, weight in zip(outs[:self.visible], self.weights, strict=False):
            if is_float(weight.dtype):
                total += float(np.sum(read_numpy(out, runtime.ctx.stream) * weight,
                                      dtype=np.float64))
        return total

    def check_differences(self) -> int:
        """Own gradients agree with finite differences; gives the number of slopes compared."""
        grads, _ = self.own()
        names = self.op.input_names(self.params)
        wanted = [i for i, name in enumerate(names) if is_float(self.subject.values[i].dtype)
                  and not self.case.is_no_grad(i, name)]
        return assert_slopes(self.value, self.subject.values, grads, names, wanted,
                             Steps(self.eps, self.rtol, self.case.grad_atol))

    def check_formula(self) -> int:
        """Own gradients agree with the formula of the case; gives the number of them."""
        assert self.case.gradients is not None
        grads, _ = self.own()
        given = [widen(v) for v in self.subject.values]
        heads = [widen(w) for w in self.weights[:self.visible]]
        with np.errstate(all="ignore"):
            wanted = self.case.gradients(*given, *heads)
        wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
        rtol, atol = self.case.tolerance(self.subject.dtype)
        compared = 0
        for i, want in enumerate(wanted):
            if want is None:
                continue
            got = grads[i]
            assert got is not None, f"input {i} has no gradient, the case has a formula for it"
            assert_close(got, want, rtol, atol, f"gradient of input {i}")
            compared += 1
        return compared


def backward_subjects(case: Case) -> list[Subject]:
    """Each backward operator's call in the gradient of a case, in float32.

    Expected is what its numpy path gives in float64 for the same inputs.
    """
    slope = Slope(case, "float32")
    _, calls = slope.own()
    made = []
    for call in calls:
        if not call.op.is_backward:
            continue
        wide = NumpyRuntime(is_train=True)
        ins = arrays_of([widen(v) for v in call.values], wide)
        outs = run_op(wide, call.op, call.params, ins)
        stream = wide.ctx.stream
        after = {i: read_numpy(ins[i], stream) for i in call.op.mutated(call.params)}
        wide.close()
        made.append(_subject(case, call, [read_numpy(out, stream) for out in outs], after))
    slope.runtime.close()
    return made


def second_slopes(case: Case) -> list[Slope]:
    """Each backward operator's call in the gradient of a case, where that operator has a gradient.

    Of masks, which are drawn, and of inputs that the case keeps out, no slope is checked; of a
    gradient that is right with its forward operator only, none at all.
    """
    slope = Slope(case, "float64")
    _, calls = slope.own()
    names = slope.op.input_names(slope.params)
    kept_out = [value for i, (name, value) in enumerate(zip(names, slope.subject.values,
                                                            strict=False))
                if case.is_no_grad(i, name)]
    slope.runtime.close()
    made = []
    for call in calls:
        if (not call.op.is_backward or call.op.gradient is None
                or call.op.sums_gradient):
            continue
        names = call.op.input_names(call.params)
        constant: set[str | int] = {
            i for i, (name, value) in enumerate(zip(names, call.values, strict=True))
            if name == "mask" or any(np.array_equal(value, other) for other in kept_out)}
        # relu's slope as a function of its output jumps at 0
        inputs = [Input(value.shape, str(value.dtype),
                        values=np.where(value == 0, KINK, value) if name == "out" else value)
                  for name, value in zip(names, call.values, strict=True)]
        made.append(Slope(Case(
            call.op.name, call.params.to_attrs(), inputs, no_grad=constant,
            grad_eps=case.grad_eps, grad_rtol=case.grad_rtol, grad_atol=case.grad_atol,
            note=case.note), "float64"))
    return made


def _subject(case: Case, call: Call, want: list[Array], after: dict[int, Array]) -> Subject:
    given = {}
    for i, one in enumerate(case.all_inputs()):
        if one.weight_groups:
            given[one.shape] = i
    tags, groups = [], {}
    for i, value in enumerate(call.values):
        origin = given.get(value.shape)
        if origin is not None:
            tags.append(case.tags(origin))
            if case.all_inputs()[origin].weight_groups > 1:
                groups[i] = case.all_inputs()[origin].weight_groups
        else:
            from .case import LAYOUTS
            tags.append(LAYOUTS.get(value.ndim, ()) if case.layouts is None else case.layouts)

    def tolerance(dtype: str) -> tuple[float, float]:
        rtol, atol = case.tolerance(dtype)
        return 5 * rtol, 5 * atol
    return Subject(call.op, call.params, call.values, tags, "float32", True, case.native_backward,
                   tolerance, list(want), after, False, groups)
