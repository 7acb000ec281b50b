"""Every operator, one case of each: a fault at each place leaves old or new values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ndarray_rt import autograd, nd
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt._array.req import Req
from ndarray_rt.imperative.call import run_op
from ndarray_rt.imperative.invoke import invoke_params
from ndarray_rt.op.random_state import default_random_state
from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.faults import Scenario, check_allocations, check_interrupts
from ndarray_rt.testing.subject import subject_of
from tests.case_table import all_cases


def one_of_each() -> dict[str, Case]:
    """The smallest case of each operator, of rank 4 where there is one: in a special layout."""
    def rank_then_size(case: Case) -> tuple[bool, int]:
        shapes = [i.shape for i in case.all_inputs()]
        return not any(len(s) == 4 for s in shapes), sum(int(np.prod(s)) for s in shapes)
    made: dict[str, Case] = {}
    for case in sorted(all_cases(), key=rank_then_size):
        if "numpy" not in case.exempt and case.inputs:
            made.setdefault(find(case.op).name, case)
    return made


CASES = one_of_each()


def scenario(case: Case, req: Req) -> Callable[[], Scenario]:
    dtype = case.dtypes[0]
    subject = subject_of(case, dtype)

    def make() -> Scenario:
        ins = [nd.array(value, dtype=value.dtype) for value in subject.values]
        for x, tags in zip(ins, subject.tags, strict=True):
            if tags and x.dtype == np.float32 and x.ndim == 4:
                x.reorder("acdb")
        outs: list[NDArray] = []
        for shape, kind in zip(subject.out_shapes, subject.out_dtypes, strict=True):
            outs.append(nd.full(shape, 1, dtype=kind))
            if len(shape) == 4 and kind == np.float32 and 0 not in shape:
                outs[-1].reorder("aBcd8b")
        reqs = [req] * len(outs)
        arrays = {f"in {i}": x for i, x in enumerate(ins)}
        visible = subject.op.num_visible(subject.params)
        arrays.update({f"out {i}": y for i, y in enumerate(outs[:visible])})

        def run() -> None:
            default_random_state().seed(5)
            run_op(subject.op, subject.params, ins, outs, reqs, None, case.is_train)
        return Scenario(arrays, run)
    return make


@pytest.mark.parametrize("req", [Req.kWriteTo, Req.kAddTo])
@pytest.mark.parametrize("name", CASES)
def test_every_allocation_may_fail(name: str, req: Req) -> None:
    check_allocations(scenario(CASES[name], req))


@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_may_come_anywhere(name: str) -> None:
    check_interrupts(scenario(CASES[name], Req.kWriteTo), step=7)


def recorded(case: Case) -> Callable[[], Scenario]:
    subject = subject_of(case, "float32")

    def make() -> Scenario:
        ins = [nd.array(value, dtype=value.dtype) for value in subject.values]
        for x in ins:
            if x.dtype == np.float32:
                x.attach_grad()
                x.grad[:] = 3
        arrays = {f"in {i}": x for i, x in enumerate(ins)}
        arrays.update({f"grad {i}": x.grad for i, x in enumerate(ins) if x.grad is not None})

        def run() -> None:
            default_random_state().seed(5)
            with autograd.record():
                made = invoke_params(subject.op, subject.params, ins)
            autograd.backward(made)
            assert not autograd.is_recording()
        return Scenario(arrays, run)
    return make


DIFFERENTIABLE = [n for n, c in CASES.items() if find(c.op).gradient is not None
                  and not find(c.op).mutates and "gradient" not in c.exempt and any(
                      i.dtype_in("float32") == np.float32 for i in c.all_inputs())]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_allocation_of_a_recorded_call_may_fail(name: str) -> None:
    check_allocations(recorded(CASES[name]))
    assert not autograd.is_recording()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_an_interrupt_of_a_recorded_call_may_come_anywhere(name: str) -> None:
    check_interrupts(recorded(CASES[name]), step=13)
    assert not autograd.is_recording()
