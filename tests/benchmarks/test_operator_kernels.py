"""The operators that are measured on large arrays run natively, none by oneDNN's reference code."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ndarray_rt as mx
from benchmarks.operators.cases import LARGE, SIDE, Case
from benchmarks.operators.ours import load
from ndarray_rt.op.dispatch import Dispatched, observe


@pytest.mark.parametrize("case", LARGE, ids=lambda case: case.name)
def test_large_arrays_run_natively(case: Case) -> None:
    smaller = tuple(tuple(512 if dim == SIDE else dim for dim in shape) for shape in case.shapes)
    call, wait = load(mx, replace(case, shapes=smaller))
    told: list[Dispatched] = []
    stop = observe(told.append)
    try:
        call(1)
        wait()
    finally:
        stop()
    assert told
    assert [(one.op.name, one.reason) for one in told if one.reason is not None] == []
    assert [impl for one in told for impl in one.impls if impl.startswith("ref")] == []
