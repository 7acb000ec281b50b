"""Primitives of recurrent layers: one step in NumPy, both directions of time, refused specs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import Array, Desc, Prim, desc, from_numpy, reorder, to_numpy

SRC, DST, BIAS = lib.NDRT_ARG_SRC, lib.NDRT_ARG_DST, lib.NDRT_ARG_BIAS
WEIGHTS, WEIGHTS_ITER = lib.NDRT_ARG_WEIGHTS, lib.NDRT_ARG_WEIGHTS_ITER
SRC_ITER, DST_ITER = lib.NDRT_ARG_SRC_ITER, lib.NDRT_ARG_DST_ITER
INFER, BACK_DATA = lib.NDRT_FORWARD_INFERENCE, lib.NDRT_BACKWARD_DATA
STEPS, BATCH, INPUTS, STATE = 3, 2, 4, 5


def rand(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, shape).astype("f4")


def layer(ways: int = 1, **changed: Any) -> dict[str, Any]:
    """Layouts of a layer of one gate, and whatever else a spec has."""
    return {"direction": INFER, "alg": lib.NDRT_ELTWISE_TANH,
            "src": desc((STEPS, BATCH, INPUTS)), "src_iter": desc((1, ways, BATCH, STATE)),
            "weights": desc((1, ways, INPUTS, 1, STATE), "any"),
            "weights_iter": desc((1, ways, STATE, 1, STATE), "any"),
            "bias": desc((1, ways, 1, STATE)), "dst": desc((STEPS, BATCH, ways * STATE)),
            "dst_iter": desc((1, ways, BATCH, STATE)), **changed}


def wanted(prim: Prim, arg: int) -> Desc:
    layout = prim.desc(arg)
    assert layout is not None
    return layout


@pytest.mark.parametrize("ways", [1, 2])
def test_vanilla_rnn(ways: int) -> None:
    x, h = rand(STEPS, BATCH, INPUTS), rand(1, ways, BATCH, STATE, seed=1)
    w, u = rand(1, ways, INPUTS, 1, STATE, seed=2), rand(1, ways, STATE, 1, STATE, seed=3)
    b = rand(1, ways, 1, STATE, seed=4)
    prim = Prim(lib.NDRT_VANILLA_RNN, **layer(ways))
    y, last = Array(desc((STEPS, BATCH, ways * STATE))), Array(desc(h.shape))
    prim.run({SRC: from_numpy(x), SRC_ITER: from_numpy(h), BIAS: from_numpy(b),
              WEIGHTS: reorder(from_numpy(w), wanted(prim, WEIGHTS)),
              WEIGHTS_ITER: reorder(from_numpy(u), wanted(prim, WEIGHTS_ITER)),
              DST: y, DST_ITER: last})
    want = np.empty((STEPS, BATCH, ways * STATE), "f4")
    for way in range(ways):
        state = h[0, way]
        for t in range(STEPS)[::-1 if way else 1]:
            state = np.tanh(x[t] @ w[0, way, :, 0] + state @ u[0, way, :, 0] + b[0, way, 0])
            want[t, :, way * STATE:(way + 1) * STATE] = state
        np.testing.assert_allclose(to_numpy(last)[0, way], state, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(to_numpy(y), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [lib.NDRT_VANILLA_RNN, lib.NDRT_LSTM, lib.NDRT_LBR_GRU])
def test_bad_specs_say_why(kind: int) -> None:
    whole = layer()
    for name in ("src", "weights", "weights_iter", "dst"):
        given = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(ParameterError, match=f"the spec has no {name}"):
            Prim(kind, **given)
    with pytest.raises(ParameterError, match=f"direction {BACK_DATA} is none of its own"):
        Prim(kind, **layer(direction=BACK_DATA))
    with pytest.raises(ParameterError, match="weights of 2 dims"):
        Prim(kind, **layer(weights=desc((4, 5), "any")))
    with pytest.raises(ParameterError, match="invalid arguments"):
        Prim(kind, **layer(weights=desc((1, 1, INPUTS + 1, 1, STATE), "any")))
