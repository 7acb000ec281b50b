"""bfloat16: gradients of every operator that takes it, training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.dtypes import find_dtype, is_float, precision
from ndarray_rt.errors import NdrtError
from ndarray_rt.op.infer import run_infer_type
from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import RTOL, Case
from ndarray_rt.testing.derive import known_calls

from ..case_table import all_cases, unique_ids

ml_dtypes = pytest.importorskip("ml_dtypes")
NARROW = find_dtype("bfloat16")
TOLERANCE = RTOL["bfloat16"]


def takes(case: Case) -> bool:
    """Has the call a gradient, and does its inference take bfloat16?"""
    op = find(case.op)
    params = op.params.parse(dict(case.params), case.op)
    types = [NARROW if value.dtype == np.float32 else value.dtype
             for value in case.draw("float32")]
    if (op.gradient is None or "gradient" in case.exempt or case.check is not None
            or not hasattr(mx.nd.op, op.name) or NARROW not in types):
        return False
    try:
        run_infer_type(op, params, types, [None] * len(op.output_names(params)))
    except NdrtError:
        return False
    return True


CASES = tuple(case for case in known_calls(all_cases()) if takes(case))


def gradients(case: Case, values: list[Any]) -> list[Any]:
    mx.random.seed(3)
    arrays = [mx.nd.array(value, dtype=value.dtype) for value in values]
    wanted = [x for x in arrays[:len(case.inputs)] if is_float(x.dtype)]
    for x in wanted:
        x.attach_grad()
    with mx.autograd.record(train_mode=case.is_train):
        made = getattr(mx.nd.op, find(case.op).name)(*arrays, **dict(case.params))
    outs = list(made) if isinstance(made, (list, tuple)) else [made]
    rng = np.random.default_rng(5)
    # the same few digits in both dtypes
    heads = [mx.nd.array(np.round(rng.uniform(-1, 1, out.shape) * 16) / 16, dtype=out.dtype)
             for out in outs]
    mx.autograd.backward(outs, heads)
    return [x.grad.asnumpy().astype(np.float64) for x in wanted]


@pytest.mark.parametrize("native", [True, False], ids=["native", "numpy"])
@pytest.mark.parametrize("case", CASES, ids=unique_ids(CASES))
def test_gradients(case: Case, native: bool) -> None:
    """Gradients are those of float32 at the same numbers."""
    narrow = [value.astype(NARROW) if value.dtype == np.float32 else value
              for value in case.draw("float32")]
    full = [value.astype(np.float32) if value.dtype == NARROW else value for value in narrow]
    with config.override(NDRT_ONEDNN=native):
        for got, want in zip(gradients(case, narrow), gradients(case, full), strict=True):
            finite = np.abs(want[np.isfinite(want)]).max(initial=1.0)
            np.testing.assert_allclose(got, want, TOLERANCE, TOLERANCE * finite)


def test_a_network_trains_in_it() -> None:
    rng = np.random.default_rng(1)
    x = mx.nd.array(rng.uniform(-1, 1, (32, 3, 6, 6)), dtype="bfloat16")
    t = mx.nd.array((x.asnumpy().astype(np.float32).mean((1, 2, 3)) > 0).astype(np.float32))
    w = mx.nd.array(rng.uniform(-0.5, 0.5, (8, 3, 3, 3)), dtype="bfloat16")
    b, v = mx.nd.zeros((8,), dtype="bfloat16"), mx.nd.zeros((2, 8), dtype="bfloat16")
    masters = [one.astype("float32") for one in (w, b, v)]
    losses = []
    for one in (w, b, v):
        one.attach_grad()
    for _ in range(30):
        with mx.autograd.record():
            y = mx.nd.relu(mx.nd.Convolution(x, w, b, kernel=(3, 3), num_filter=8))
            y = mx.nd.FullyConnected(y.mean(axis=(2, 3)), v, num_hidden=2, no_bias=True)
            loss = -mx.nd.pick(mx.nd.log_softmax(mx.nd.amp_cast(y, dtype="float32")), t).mean()
        loss.backward()
        losses.append(loss.asscalar())
        for one, master in zip((w, b, v), masters, strict=True):
            mx.nd.mp_sgd_update(one, one.grad, master, lr=2.0, out=one)
    assert losses[-1] < 0.8 * losses[0]


def test_precision() -> None:
    info = ml_dtypes.finfo(NARROW)
    assert precision(NARROW) == (float(info.eps), float(info.tiny))


def test_nan_is_the_greatest() -> None:
    x = mx.nd.array([1, float("nan"), 3, -2], dtype="bfloat16")
    assert mx.nd.argmax(x, axis=0).asscalar() == 1
    assert mx.nd.argsort(x, is_ascend=False).asnumpy().tolist() == [1, 2, 0, 3]


def test_as_mxnets_programs_spell_it() -> None:
    dtype = np.dtype([("bfloat16", np.uint16)])
    x = mx.nd.zeros((2,), dtype=dtype)
    assert x.dtype == mx.nd.zeros((2,), dtype="bfloat16").dtype
    assert mx.nd.amp_cast(x + 1.5, dtype=dtype).astype("float32").asnumpy().tolist() == [1.5, 1.5]
    outputs: Any = mx.sym.amp_cast(mx.sym.var("x"), dtype=dtype).infer_type(x="float32")[1]
    assert outputs == [x.dtype]


def test_places_in_it() -> None:
    x = mx.nd.array([5, 6, 7])
    assert x[mx.nd.array([2, 0], dtype="bfloat16")].asnumpy().tolist() == [7, 5]
    assert mx.nd.contrib.arange_like(mx.nd.zeros((300,), dtype="bfloat16")).asnumpy()[299] == 300


