"""Calls of gradients that were made before: what they give, in every kind of memory.

Such a call is recorded the second time and done again natively from the third time on; so checks
are run three times.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ndarray_rt import cpu
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt._array.req import Req
from ndarray_rt.imperative.gradient_call import Call, Given, Wish, run
from ndarray_rt.imperative.tape import STATE
from ndarray_rt.op.dispatch import Dispatched
from ndarray_rt.op.params import Params
from ndarray_rt.op.registry import OpDef
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.checks import Bench
from ndarray_rt.testing.failures import Failures, no_leak
from ndarray_rt.testing.gradient import backward_subjects
from ndarray_rt.testing.operator import fill_want, why_no_gradient
from ndarray_rt.testing.runtimes import Runtime
from ndarray_rt.testing.subject import Subject, subject_of
from tests.case_table import all_cases, unique_ids

TURNS = 3
CASES = all_cases()
SLOPES = [case for case in CASES if not why_no_gradient(case)]
FIRST = list({case.op: case for case in reversed(CASES)}.values())


class AgainRuntime(Runtime):
    """Runs one call as gradients do."""

    name = "again"

    def run(self, op: OpDef, params: Params, ins: Sequence[NDArray], outs: Sequence[NDArray],
            reqs: Sequence[Req]) -> Dispatched | None:
        ignored = op.ignored(params)
        given: list[Given] = [(x.shape, x.dtype, x.ctx) if i in ignored else x
                              for i, x in enumerate(ins)]
        wishes: list[Wish] = [y if req else None for y, req in zip(outs, reqs, strict=True)]
        adds = sum(1 << i for i, req in enumerate(reqs) if req == Req.kAddTo)
        made = run(Call(op, params, params.by_name(), ""), tuple(given), tuple(wishes), adds,
                   cpu(), self._mode.is_train)
        assert [y is wish for y, wish in zip(made, wishes, strict=True)] == [True] * len(outs)
        return None

    def assert_library(self, told: Dispatched, must: bool | str) -> None:
        raise AssertionError("nobody is told of calls that may be done again")


def run_checks(subject: Subject, failures: Failures) -> None:
    bench = Bench(subject, AgainRuntime(subject.is_train))
    for _ in range(TURNS):
        bench.check_kinds(failures)
        bench.check_requests(failures)
    for part in bench.all_checks():
        part(failures)
    bench.runtime.close()


def check(subjects: Sequence[Subject]) -> None:
    count = 0
    for subject in subjects:
        # what draws is another one each time; graphs keep executors, and are never recorded
        if subject.op.draws(subject.params) or not subject.op.pure:
            continue
        failures = Failures()
        STATE.calls.renew()
        with no_leak():
            fill_want(subject)
            run_checks(subject, failures)
        failures.settle()
        count += failures.count
    if not count:
        pytest.skip("no operator that draws nothing")


@pytest.mark.parametrize("case", SLOPES, ids=unique_ids(tuple(SLOPES)))
def test_backward_operators(case: Case) -> None:
    check(backward_subjects(case))


@pytest.mark.parametrize("case", FIRST, ids=unique_ids(tuple(FIRST)))
def test_other_operators(case: Case) -> None:
    """Gradients are made of these, too."""
    check([subject_of(case, case.dtypes[0])])
