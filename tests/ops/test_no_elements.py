"""Arrays of no elements, for every operator: an answer, the same on both paths, or a clear error.

Each axis of each input of each case has length 0 in turn, and with it either the same axis of the
other inputs or all axes that are as long.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, config
from ndarray_rt.errors import MXNetError
from ndarray_rt.imperative.invoke import invoke
from ndarray_rt.testing.case import Array, Case
from tests.case_table import all_cases

Shapes = tuple[tuple[int, ...], ...]
OPERATORS = sorted({case.op for case in all_cases()})


def emptied(shapes: Shapes) -> Iterator[Shapes]:
    for shape in shapes:
        for axis, size in enumerate(shape):
            if size:
                yield tuple((*other[:axis], 0, *other[axis + 1:])
                            if other[axis:axis + 1] == (size,) else other for other in shapes)
                yield tuple(tuple(0 if one == size else one for one in other) for other in shapes)


def arrays_of(case: Case, shapes: Shapes) -> list[Array]:
    return [np.resize(x, shape) if 0 not in shape else np.zeros(shape, x.dtype)
            for x, shape in zip(case.draw("float32"), shapes, strict=True)]


def forward(case: Case, arrays: list[Array]) -> list[Array]:
    mx.random.seed(1)
    with autograd.pause(case.is_train):
        made: Any = invoke(case.op, [mx.nd.array(x, dtype=x.dtype) for x in arrays],
                           dict(case.params))
    return [x.asnumpy() for x in (made if isinstance(made, (list, tuple)) else [made])]


def gradients(case: Case, arrays: list[Array]) -> list[Array]:
    mx.random.seed(1)
    inputs = [mx.nd.array(x, dtype=x.dtype) for x in arrays]
    floats = [x for x in inputs if x.dtype == np.float32]
    for x in floats:
        x.attach_grad()
    with autograd.record():
        made: Any = invoke(case.op, inputs, dict(case.params))
    first = made[0] if isinstance(made, (list, tuple)) else made
    if not floats or first.dtype != np.float32:
        return []
    first.backward()
    return [x.grad.asnumpy() for x in floats]


def answer(run: Any, case: Case, arrays: list[Array], **switches: Any) -> list[Array] | str:
    """What a run gives; the name of the operator where it refuses."""
    with config.override(**switches), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found: list[Array] = run(case, arrays)
        except MXNetError as error:
            return str(error)
    return found


@pytest.mark.parametrize("op", OPERATORS)
def test_no_elements(op: str) -> None:
    seen = set()
    for case in all_cases():
        shapes: Shapes = tuple(given.shape for given in case.all_inputs())
        params = sorted((name, str(value)) for name, value in case.params.items())
        for changed in emptied(shapes) if case.op == op else ():
            if (key := (str(params), changed)) in seen:
                continue
            seen.add(key)
            arrays = arrays_of(case, changed)
            for run in (forward, gradients):
                numpy = answer(run, case, arrays, NDRT_ONEDNN=False)
                other = answer(run, case, arrays)
                told = f"{case.id} of {changed}: {numpy} and {other}"
                assert isinstance(numpy, str) == isinstance(other, str), told
                if isinstance(numpy, str):
                    assert numpy.split(":")[0].split(" ")[0] in OPERATORS, told
                    continue
                assert not isinstance(other, str), told
                for x, y in zip(numpy, other, strict=True):
                    assert (x.shape, x.dtype) == (y.shape, y.dtype), told
                    np.testing.assert_allclose(x, y, 1e-3, 1e-4, err_msg=told)
