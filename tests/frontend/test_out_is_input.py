"""nd.op(x, out=x) gives what nd.op(x) gives, for each operator whose output may be an input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.dtypes import is_float
from ndarray_rt.errors import NdrtError
from ndarray_rt.op.infer import run_infer_shape, run_infer_type
from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import ATOL, RTOL, Case
from ndarray_rt.testing.derive import known_calls
from tests.case_table import all_cases, unique_ids

DTYPES = ("float32", "float64", "float16", "int32")
RUNS = 3  # the second may take a short way that the first has found


def pairs(case: Case, values: list[Any]) -> list[tuple[int, int]]:
    """(output, input) where both have one shape and one dtype; empty where there are none."""
    op = find(case.op)
    params = op.params.parse(dict(case.params), case.op)
    unknown: list[None] = [None] * len(op.output_names(params))
    try:
        types = run_infer_type(op, params, [v.dtype for v in values], unknown)[1]
        shapes = run_infer_shape(op, params, [v.shape for v in values], unknown)[1]
    except NdrtError:
        return []
    return [(o, i) for o in range(op.num_visible(params)) for i, value in enumerate(values)
            if types[o] == value.dtype and shapes[o] == value.shape]


def callable_cases() -> list[Case]:
    found = []
    for case in known_calls(all_cases()):
        op = find(case.op)
        params = op.params.parse(dict(case.params), case.op)
        if hasattr(mx.nd.op, op.name) and case.check is None and not op.mutated(params) and any(
                pairs(case, case.draw(dtype)) for dtype in DTYPES):
            found.append(case)
    return found


CASES = callable_cases()


def call(case: Case, values: list[Any], out_of: tuple[int, int] | None) -> list[Any]:
    """The outputs of a call; `out_of` is an output and the input that it is written to."""
    mx.random.seed(7)
    arrays = [mx.nd.array(value, dtype=value.dtype) for value in values]
    function = getattr(mx.nd.op, find(case.op).name)
    params = dict(case.params)
    if out_of is not None:
        o, i = out_of
        made = call(case, values, None)
        outs = [mx.nd.zeros(one.shape, dtype=one.dtype) for one in made]
        outs[o] = arrays[i]
        mx.random.seed(7)
        params["out"] = outs if len(outs) > 1 else outs[0]
    made = function(*arrays, **params)
    return [one.asnumpy() for one in (made if isinstance(made, (list, tuple)) else [made])]


@pytest.mark.parametrize("native", [True, False], ids=["native", "numpy"])
@pytest.mark.parametrize("case", CASES, ids=unique_ids(tuple(CASES)))
def test_out_is_input(case: Case, native: bool) -> None:
    tried = 0
    with config.override(NDRT_ONEDNN=native):
        for dtype in DTYPES:
            values = case.draw(dtype)
            for pair in pairs(case, values):
                try:
                    want = call(case, values, None)
                except NdrtError:
                    break  # the call itself is refused in this dtype
                for _ in range(RUNS):
                    tried += 1
                    for one, other in zip(call(case, values, pair), want, strict=True):
                        close(one, other, f"{dtype}, output {pair[0]} is input {pair[1]}")
    assert tried


def close(got: Any, want: Any, what: str) -> None:
    if is_float(want.dtype):
        name = want.dtype.name
        np.testing.assert_allclose(got, want, RTOL[name] / 10, ATOL[name] / 10, err_msg=what)
    else:
        np.testing.assert_array_equal(got, want, err_msg=what)
