"""Every case of the table on every runtime, with every request, in every kind of memory.

An operator's author adds cases in tests/cases (ndarray_rt/testing/case.py says how), nothing here.
"""

from __future__ import annotations

import pytest

from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.derive import known_calls
from ndarray_rt.testing.failures import CHOSEN
from ndarray_rt.testing.operator import (
    run_backward,
    run_dtype,
    run_every_dtype,
    run_every_shape,
    run_executor,
    run_forward,
    run_gradient,
    run_second_gradient,
)
from ndarray_rt.testing.report import Ran

from .case_table import all_cases, unique_ids

CASES = all_cases()
IDS = unique_ids(CASES)
over_cases = pytest.mark.parametrize("case", CASES, ids=IDS)


def settle(ran: Ran) -> None:
    """Skips, visibly and with the reason, where nothing was run."""
    if ran.skipped:
        pytest.skip(ran.skipped)
    if CHOSEN.parts and not ran.executed:
        pytest.skip("no combination that was asked for")
    assert ran.executed


@pytest.mark.parametrize("runtime", ["numpy", "native"])
@over_cases
def test_forward(case: Case, runtime: str) -> None:
    settle(run_forward(case, runtime))


def pairs() -> list[tuple[Case, str, str]]:
    return [(case, dtype, f"{name}-{dtype}") for case, name in zip(CASES, IDS, strict=True)
            for dtype in case.dtypes[1:]]


@pytest.mark.parametrize(("case", "dtype"), [(c, d) for c, d, _ in pairs()],
                         ids=[name for *_, name in pairs()])
def test_other_dtypes(case: Case, dtype: str) -> None:
    """The remaining dtypes of a case, plainly and as views."""
    settle(run_dtype(case, dtype))


def has_slope(case: Case) -> bool:
    op = find(case.op)
    return op.gradient is not None and "gradient" not in case.exempt


SLOPES = [(case, name) for case, name in zip(CASES, IDS, strict=True) if has_slope(case)]
over_slopes = pytest.mark.parametrize("case", [c for c, _ in SLOPES], ids=[n for _, n in SLOPES])


@over_slopes
def test_gradient(case: Case) -> None:
    """The gradient in float64 is the slope, or the formula of the case."""
    settle(run_gradient(case))


@over_slopes
def test_second_gradient(case: Case) -> None:
    """The gradients of backward operators are slopes, where they have gradients."""
    settle(run_second_gradient(case))


@pytest.mark.parametrize("runtime", ["numpy", "native"])
@over_slopes
def test_backward(case: Case, runtime: str) -> None:
    """The backward operators of a case pass the checks of any operator."""
    settle(run_backward(case, runtime))


@over_cases
def test_executor(case: Case) -> None:
    """The case as a bound graph: forward and backward, through the public API."""
    settle(run_executor(case))


@over_cases
def test_every_dtype(case: Case) -> None:
    """The dtypes that a case does not list, where the operator's inference takes them."""
    settle(run_every_dtype(case))


CALLS = tuple(known_calls(CASES))


@pytest.mark.parametrize("case", CALLS, ids=unique_ids(CALLS))
def test_every_shape(case: Case) -> None:
    """Shapes that no case lists: rank 0 to 12, of few elements and of none."""
    settle(run_every_shape(case))
