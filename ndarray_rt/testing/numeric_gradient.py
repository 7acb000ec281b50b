"""check_gradient: the gradients of anything that computes, against finite differences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .._array.copy import read_numpy
from .._array.ndarray import NDArray
from ..dtypes import is_float
from ..op.registry import OpDef
from ..storage.stream import Stream
from .case import Array, Case
from .checks import no_leak
from .computation import Computation, as_heads, computation_of, head_weights
from .differences import Steps, assert_slopes
from .memory_kinds import make
from .operator import as_inputs, registered
from .report import Ran, Report

UNUSED = np.nan


def check_gradient(what: Any, inputs: Any, params: Mapping[str, Any] | None = None, *,
                   no_grad: Collection[str | int] = (), eps: float = 1e-6, rtol: float = 1e-5,
                   atol: float = 1e-7, seed: int = 0) -> Report:
    """Compares analytic gradients with central differences, in float64.

    `what` is a Python function of NDArrays, a Symbol, the name of an operator or an OpDef;
    `inputs` has a shape, an Input, an array or a list for each input (of a Symbol: its arguments,
    then its aux states). `no_grad` has positions or names of inputs without differences; inputs
    that are not floats have none anyway. Steps are `eps` wide: keep contents of functions with
    kinks away from them (`Input(shape, kind="away")`). Each small input is stepped along every
    element, others along some elements and random directions.

    Returns a Report. Raises AssertionError naming the input, the element and both slopes.
    """
    case = Case(getattr(what, "__name__", "function"), {}, as_inputs(inputs), seed=seed,
                no_grad=frozenset(no_grad), grad_eps=eps, grad_rtol=rtol, grad_atol=atol)
    if isinstance(what, OpDef):
        with registered(what):
            return _check(computation_of(what, params), case)
    return _check(computation_of(what, params), case)


def _check(computation: Computation, case: Case) -> Report:
    with no_leak():
        compared, _ = differences(computation, case)
    reason = "" if compared else "no input of a float dtype has elements"
    return Report(computation.name, [Ran("gradient", "float64", compared, reason)])


def differences(computation: Computation, case: Case) -> tuple[int, list[Array | None]]:
    """Checks the slopes; gives their number and the gradients (None: the input has none)."""
    values = case.draw("float64")
    names, wanted = computation.names(len(values)), trainable(computation, case, values)
    grads = gradients(computation, values, wanted)

    def value(at: list[Array]) -> float:
        stream = Stream()
        outs = [read_numpy(y, stream) for y in computation.forward(plain(at), True)]
        weights = head_weights([y.shape for y in outs], [y.dtype for y in outs])
        return sum(float(np.sum(y * w, dtype=np.float64))
                   for y, w in zip(outs, weights, strict=True) if is_float(y.dtype))
    steps = Steps(case.grad_eps, case.grad_rtol, case.grad_atol)
    return assert_slopes(value, values, grads, names, wanted, steps), grads


def trainable(computation: Computation, case: Case, values: Sequence[Array]) -> list[int]:
    """Positions of the inputs whose gradients are looked at."""
    names = computation.names(len(values))
    return [i for i in computation.differentiable(len(values)) if is_float(values[i].dtype)
            and not case.is_no_grad(i, names[i])]


def gradients(computation: Computation, values: Sequence[Array], wanted: Sequence[int],
              ) -> list[Array | None]:
    """The gradient of each wanted input, in plain memory; None: it has none."""
    grads = dict(zip(wanted, plain([np.full_like(values[i], UNUSED) for i in wanted]),
                     strict=True))
    computation.backward(plain(values), as_heads, grads, dict.fromkeys(wanted, "write"))
    found: list[Array | None] = [None] * len(values)
    stream = Stream()
    for i, grad in grads.items():
        got = read_numpy(grad, stream)
        # what is still as it was filled was never written: nothing depends on the input
        found[i] = None if got.size and np.isnan(got).all() else got
    return found


def plain(values: Sequence[Array]) -> list[NDArray]:
    """Arrays of these contents in memory of their own."""
    stream = Stream()
    return [make(value, "plain", stream).array for value in values]
