"""All checks of one operator call, and `check_operator`, which runs them in one go.

A Case goes through `run_forward`, `run_dtype`, `run_gradient`, `run_backward` and `run_executor`:
each gives what it ran, or why it did not, and raises AssertionError on what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from ..errors import NameMismatch, TypeMismatch
from ..op.registry import REGISTRY, OpDef, find
from .case import Case, Input, Reference
from .checks import Bench, Failures, no_leak
from .derived_checks import check_dtypes, check_shapes, run_two
from .executor import ExecutorBench
from .gradient import Slope, backward_subjects, second_slopes
from .report import Ran, Report
from .runtimes import RUNTIMES
from .subject import Subject, subject_of


def run_forward(case: Case, runtime: str) -> Ran:
    """The operator in the first dtype of a case, on "numpy" or "native": every check."""
    if runtime in case.exempt:
        return Ran("forward", runtime, 0, case.exempt[runtime])
    return Ran("forward", runtime, _all_checks([subject_of(case, case.dtypes[0])], runtime))


def run_quick(case: Case) -> Ran:
    """Forward and the backward operators on NumPy and natively, written and added to once each."""
    subjects = [subject_of(case, case.dtypes[0])]
    if not why_no_gradient(case):
        subjects += backward_subjects(case)
    failures = Failures()
    with no_leak():
        for subject in subjects:
            fill_want(subject)
            for runtime in RUNTIMES:
                if runtime not in case.exempt:
                    run_two(subject, runtime, failures, f"{subject.op.name} on {runtime},")
    failures.settle()
    return Ran("forward and backward", "numpy, native", failures.count)


def run_dtype(case: Case, dtype: str) -> Ran:
    """Another dtype of a case, plainly and as views."""
    failures = Failures()
    with no_leak():
        _run_pairs(subject_of(case, dtype), failures)
    failures.settle()
    return Ran(f"forward in {dtype}", "native", failures.count)


def run_gradient(case: Case) -> Ran:
    """The gradient in float64 is the slope, or the formula of the case."""
    reason = why_no_gradient(case)
    if reason:
        return Ran("gradient", "numpy", 0, reason)
    slope = Slope(case, "float64")
    compared = slope.check_differences() if case.gradients is None else slope.check_formula()
    return Ran("gradient", "numpy", compared, "" if compared else "no element has a gradient")


def run_backward(case: Case, runtime: str) -> Ran:
    """The backward operators of a case pass the checks of any operator."""
    reason = case.exempt.get(runtime) or why_no_gradient(case)
    if reason:
        return Ran("backward", runtime, 0, reason)
    subjects = backward_subjects(case)
    return Ran("backward", runtime, _all_checks(subjects, runtime),
               "" if subjects else "the gradient is made of forward operators alone")


def run_second_gradient(case: Case) -> Ran:
    """The gradients of the backward operators of a case are slopes, too, where they have any."""
    reason = why_no_gradient(case)
    if reason:
        return Ran("gradient of gradient", "numpy", 0, reason)
    if case.gradients is not None:
        return Ran("gradient of gradient", "numpy", 0, "the gradient is a formula of its own")
    compared = sum(slope.check_differences() for slope in second_slopes(case))
    return Ran("gradient of gradient", "numpy", compared,
               "" if compared else "no backward operator with a gradient")


def run_executor(case: Case) -> Ran:
    """The case as a bound graph: forward and backward, through the public API."""
    if "executor" in case.exempt:
        return Ran("forward and backward", "executor", 0, case.exempt["executor"])
    failures = Failures()
    with no_leak():
        _run_executor(case, failures)
    failures.settle()
    return Ran("forward and backward", "executor", failures.count)


def run_every_dtype(case: Case) -> Ran:
    """The dtypes that a case does not list, where the operator's inference takes them."""
    failures = Failures()
    with no_leak():
        check_dtypes(case, failures)
    failures.settle()
    return Ran("forward in other dtypes", "numpy, native", failures.count,
               "" if failures.count else "inference takes no other dtype")


def run_every_shape(case: Case) -> Ran:
    """Shapes that no case lists: rank 0 to 12, of few elements and of none."""
    failures = Failures()
    with no_leak():
        check_shapes(case, failures)
    failures.settle()
    return Ran("forward in other shapes", "numpy, native, executor", failures.count,
               "" if failures.count else "inference takes no other shape")


def why_no_gradient(case: Case) -> str:
    """Why the gradient of a case is not checked; empty when it is."""
    op = find(case.op)
    if op.gradient is None:
        return f"{op.name} has no gradient: {op.no_gradient}"
    if "gradient" in case.exempt:
        return case.exempt["gradient"]
    if not any(np.dtype(i.dtype or "float64").kind == "f" for i in case.all_inputs()):
        return "no input of a float dtype"
    return ""


def fill_want(subject: Subject) -> None:
    """Where nothing is known of the values, all ways must agree with one plain numpy call."""
    if not subject.want:
        plain = RUNTIMES["numpy"](subject.is_train)
        subject.want = list(Bench(subject, plain).result())
        plain.close()


def _all_checks(subjects: Sequence[Subject], runtime_name: str) -> int:
    """Every check of subjects on one runtime, without a leak; gives the number of calls."""
    count = 0
    for subject in subjects:
        failures = Failures()
        with no_leak():
            _run_checks(subject, runtime_name, failures)
        failures.settle()
        count += failures.count
    return count


def _run_checks(subject: Subject, runtime_name: str, failures: Failures) -> None:
    fill_want(subject)
    runtime = RUNTIMES[runtime_name](subject.is_train)
    for check in Bench(subject, runtime).all_checks():
        check(failures)
    runtime.close()


def _run_pairs(subject: Subject, failures: Failures) -> None:
    runtime = RUNTIMES["native"](subject.is_train)
    bench = Bench(subject, runtime)
    for kinds in subject.kinds_of_inputs()[:2]:
        bench.check_pair(failures, kinds, "plain")
    bench.check_pair(failures, subject.kinds_of_inputs()[0], "view")
    runtime.close()


def _run_executor(case: Case, failures: Failures) -> None:
    subject = subject_of(case, case.dtypes[0])
    fill_want(subject)
    bench = ExecutorBench(case, subject)
    bench.check_forward(failures)
    bench.check_backward(failures)
    bench.check_chained(failures)


# ---- one call for all of it -----------------------------------------------------------------


def check_operator(op: str | OpDef | Case | Callable[..., Any], inputs: Any = None,
                   params: Mapping[str, Any] | None = None, *,
                   reference: Reference | None = None, aux: Sequence[Any] = (),
                   **facts: Any) -> Report:
    """Runs an operator, or a function of arrays, through every way of calling it.

    `op` is a registered name, an OpDef (registered for the time of the check where it is not), a
    Case, or a Python function of NDArrays that gives an NDArray or a list of them. `inputs` has a
    shape, an Input, a numpy array, an NDArray or a list for each input; `aux` the same for aux
    states. `reference(*inputs, *aux)` gets numpy arrays, floats as float64, and gives what must
    come out; without it all ways must agree with one plain call computed by NumPy.
    `facts` are further fields of Case, such as `native=True`, `dtypes`, `gradients`, `no_grad`,
    `rtol`, `is_train`.

    An operator is run on NumPy and natively, in each dtype, with each request, its inputs and
    outputs in every kind of memory (views, reused, pinned, special layouts), shared and
    overlapping; its gradient is compared with finite differences in float64, its backward
    operators are put through the same, and it is bound and run as a graph. A function is run on
    NumPy and oneDNN with inputs in every kind of memory, and its gradients are computed by
    autograd into arrays of every kind with each request. Inputs must stay as they are, nothing
    may be written beside an output, padding stays zero, no byte stays allocated.

    Returns a Report of what ran and what was skipped, with reasons. Raises AssertionError with
    the first combinations that fail and their worst element, or from what a call raises with its
    combination; and the package's own errors for arguments that do not go together.
    """
    if isinstance(op, Case):
        if (inputs, params, reference) != (None, None, None) or aux or facts:
            raise TypeMismatch("check_operator: a Case has inputs, params and reference itself")
        case = op
    elif isinstance(op, (str, OpDef)):
        name = op if isinstance(op, str) else op.name
        case = Case(name, dict(params or {}), as_inputs(inputs), as_inputs(aux), reference,
                    **facts)
    elif callable(op):
        from .function import check_function
        if params:
            raise TypeMismatch("check_operator: a Python function has no params")
        if aux:
            raise TypeMismatch("check_operator: a Python function has no aux states")
        name = getattr(op, "__name__", type(op).__name__)
        return check_function(op, Case(name, {}, as_inputs(inputs), (), reference, **facts))
    else:
        raise TypeMismatch(f"check_operator: got {type(op).__name__}, expected the name of an "
                           "operator, an OpDef, a Case or a function")
    with registered(op) if isinstance(op, OpDef) else nullcontext():
        return _check_case(case)


def _check_case(case: Case) -> Report:
    steps: list[Callable[[], Ran]] = [lambda: run_gradient(case),
                                      lambda: run_second_gradient(case)]
    for runtime in RUNTIMES:
        steps.append(lambda runtime=runtime: run_forward(case, runtime))  # type: ignore[misc]
        steps.append(lambda runtime=runtime: run_backward(case, runtime))  # type: ignore[misc]
    for dtype in case.dtypes[1:]:
        steps.append(lambda dtype=dtype: run_dtype(case, dtype))  # type: ignore[misc]
    steps.append(lambda: run_executor(case))
    return run_steps(case.id, steps)


def run_steps(subject: str, steps: Sequence[Callable[[], Ran]]) -> Report:
    """Runs all steps and then fails if one did, so that one run shows all that is wrong."""
    report, failed = Report(subject), []
    cause: BaseException | None = None
    for step in steps:
        try:
            report.parts.append(step())
        except AssertionError as error:
            failed.append(str(error))
            cause = cause or error.__cause__
    if failed:
        raise AssertionError(f"{subject}: {len(failed)} of {len(steps)} checks fail\n"
                             + "\n".join(failed)) from cause
    return report


def as_inputs(inputs: Any) -> list[Any]:
    """A list of inputs; one shape, Input or array stands for a list of it."""
    if inputs is None:
        return []
    single = isinstance(inputs, (Input, np.ndarray, NDArray)) or (
        isinstance(inputs, tuple) and all(isinstance(dim, int) for dim in inputs) and inputs != ())
    found = [inputs] if single else list(inputs)
    return [x.asnumpy() if isinstance(x, NDArray) else x for x in found]


@contextmanager
def registered(op: OpDef) -> Iterator[None]:
    """The operator can be found by its name inside the `with` block.

    NameMismatch when another one has that name.
    """
    if op.name not in REGISTRY:
        REGISTRY.register(op)
        try:
            yield
        finally:
            REGISTRY.unregister(op.name)
    elif find(op.name) is op:
        yield
    else:
        raise NameMismatch(f"another operator {op.name!r} is registered already")
