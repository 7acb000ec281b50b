"""NDRT_VALIDATE accepts every operator: each case of the table, forward and backward."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, config, nd
from ndarray_rt.imperative.invoke import invoke
from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import Case
from tests.case_table import all_cases


def by_operator() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in all_cases():
        # a GPU in `ctx` is taken by graphs only
        if "ctx" not in case.params:
            found[case.op].append(case)
    return found


TABLE = by_operator()


def run(case: Case) -> None:
    """One call, and that of its gradient where it has one in that place."""
    op = find(case.op)
    dtype = "float32" if "float32" in case.dtypes else case.dtypes[0]
    arrays = [nd.array(value, dtype=value.dtype) for value in case.draw(dtype)]
    mutates = op.mutated(op.params.parse(case.params, op.name))
    if op.gradient is not None and not mutates and "gradient" not in case.exempt:
        for array in arrays[:len(case.inputs)]:
            if array.dtype.kind == "f":
                array.attach_grad()
    with autograd.record(train_mode=case.is_train):
        made = invoke(op, arrays, case.params)
    for out in made if isinstance(made, list) else [made]:
        if out._entry is not None:
            out.backward(retain_graph=True)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_case(name: str) -> None:
    with config.override(NDRT_VALIDATE=True):
        for case in TABLE[name]:
            run(case)


DRAWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("_random_uniform", {"low": -1, "high": 3}), ("_random_normal", {"loc": 2, "scale": 3}))


@pytest.mark.parametrize(("name", "params"), DRAWS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_drawn_from_nothing(name: str, params: dict[str, Any], dtype: str) -> None:
    """Operators without inputs: numpy draws the same numbers, and the stream moves once."""
    attrs = {**params, "shape": (5, 7), "dtype": dtype}
    mx.random.seed(11)
    expected, after = invoke(name, [], attrs).asnumpy(), mx.random.get_state()
    mx.random.seed(11)
    with config.override(NDRT_VALIDATE=True):
        np.testing.assert_array_equal(invoke(name, [], attrs).asnumpy(), expected)
    assert mx.random.get_state() == after


def test_public_functions() -> None:
    with config.override(NDRT_VALIDATE=True):
        out = nd.ones((3,))
        assert nd.random.uniform(shape=(3,), out=out) is out
        assert nd.random.normal(shape=(2,)).shape == (2,)
