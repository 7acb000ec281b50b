"""Every case of the table on every runtime, with every request, in every kind of memory.

An operator's author adds cases in tests/cases (ndarray_rt/testing/case.py says how), nothing here.
"""

from __future__ import annotations

import numpy as np
import pytest

from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.checks import Bench, Failures, no_leak
from ndarray_rt.testing.derive import known_calls
from ndarray_rt.testing.derived_checks import check_dtypes, check_shapes
from ndarray_rt.testing.executor import ExecutorBench
from ndarray_rt.testing.gradient import Slope, backward_subjects
from ndarray_rt.testing.runtimes import RUNTIMES
from ndarray_rt.testing.subject import Subject, subject_of

from .case_table import all_cases, unique_ids

CASES = all_cases()
IDS = unique_ids(CASES)
over_cases = pytest.mark.parametrize("case", CASES, ids=IDS)


def exempt(case: Case, *runtimes: str) -> None:
    """Skips, visibly and with the case's own reason."""
    for runtime in runtimes:
        if runtime in case.exempt:
            pytest.skip(case.exempt[runtime])


def run_all(subject: Subject, runtime_name: str) -> None:
    """Every check of one subject on one runtime, without a leak."""
    failures = Failures()
    with no_leak():
        _run_checks(subject, runtime_name, failures)
    failures.settle()


def fill_want(subject: Subject) -> None:
    """Where nothing is known of the values, all ways must agree with one plain numpy call."""
    if not subject.want:
        plain = RUNTIMES["numpy"](subject.is_train)
        subject.want = list(Bench(subject, plain).result())
        plain.close()


def _run_checks(subject: Subject, runtime_name: str, failures: Failures) -> None:
    fill_want(subject)
    runtime = RUNTIMES[runtime_name](subject.is_train)
    for check in Bench(subject, runtime).all_checks():
        check(failures)
    runtime.close()


@pytest.mark.parametrize("runtime", ["numpy", "onednn"])
@over_cases
def test_forward(case: Case, runtime: str) -> None:
    exempt(case, runtime)
    run_all(subject_of(case, case.dtypes[0]), runtime)


def pairs() -> list[tuple[Case, str, str]]:
    return [(case, dtype, f"{name}-{dtype}") for case, name in zip(CASES, IDS, strict=True)
            for dtype in case.dtypes[1:]]


@pytest.mark.parametrize(("case", "dtype"), [(c, d) for c, d, _ in pairs()],
                         ids=[name for *_, name in pairs()])
def test_other_dtypes(case: Case, dtype: str) -> None:
    """The remaining dtypes of a case, plainly and as views."""
    subject = subject_of(case, dtype)
    failures = Failures()
    with no_leak():
        _run_pairs(subject, failures)
    failures.settle()


def _run_pairs(subject: Subject, failures: Failures) -> None:
    runtime = RUNTIMES["onednn"](subject.is_train)
    bench = Bench(subject, runtime)
    for kinds in subject.kinds_of_inputs()[:2]:
        bench.check_pair(failures, kinds, "plain")
    bench.check_pair(failures, subject.kinds_of_inputs()[0], "view")
    runtime.close()


def has_slope(case: Case) -> bool:
    op = find(case.op)
    return op.gradient is not None and "gradient" not in case.exempt


SLOPES = [(case, name) for case, name in zip(CASES, IDS, strict=True) if has_slope(case)]
over_slopes = pytest.mark.parametrize("case", [c for c, _ in SLOPES], ids=[n for _, n in SLOPES])


@over_slopes
def test_gradient(case: Case) -> None:
    """The gradient in float64 is the slope, or the formula of the case."""
    if case.gradients is not None:
        Slope(case, "float64").check_formula()
    else:
        if not any(np.dtype(i.dtype or "float64").kind == "f" for i in case.all_inputs()):
            pytest.skip("no input of a float dtype")
        Slope(case, "float64").check_differences()


@pytest.mark.parametrize("runtime", ["numpy", "onednn"])
@over_slopes
def test_backward(case: Case, runtime: str) -> None:
    """The backward operators of a case pass the checks of any operator."""
    exempt(case, runtime)
    if not any(np.dtype(i.dtype or "float32").kind == "f" for i in case.all_inputs()):
        pytest.skip("no input of a float dtype")
    for subject in backward_subjects(case):
        run_all(subject, runtime)


@over_cases
def test_executor(case: Case) -> None:
    """The case as a bound graph: forward and backward, through the public API."""
    exempt(case, "executor")
    failures = Failures()
    with no_leak():
        _run_executor(case, failures)
    failures.settle()


def _run_executor(case: Case, failures: Failures) -> None:
    subject = subject_of(case, case.dtypes[0])
    fill_want(subject)
    bench = ExecutorBench(case, subject)
    bench.check_forward(failures)
    bench.check_backward(failures)
    bench.check_chained(failures)


@over_cases
def test_every_dtype(case: Case) -> None:
    """The dtypes that a case does not list, where the operator's inference takes them."""
    failures = Failures()
    with no_leak():
        check_dtypes(case, failures)
    failures.settle()


CALLS = tuple(known_calls(CASES))


@pytest.mark.parametrize("case", CALLS, ids=unique_ids(CALLS))
def test_every_shape(case: Case) -> None:
    """Shapes that no case lists: rank 0 to 12, of few elements and of none."""
    failures = Failures()
    with no_leak():
        check_shapes(case, failures)
    failures.settle()
