"""Passes, tiles and capture change no result of the networks that the benchmarks compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ndarray_rt as mx
from benchmarks.models import MODELS, Model
from benchmarks.prepare import draw_parameters, settle
from ndarray_rt import config

NAIVE = {"NDRT_SKIP_PASSES": "all", "NDRT_CAPTURE": False, "NDRT_BATCH_TILES": False}
THREADS = {1: 1, 4: 2}  # by batch; at 4 some run in tiles, and those in lanes
OF_THE_SCALE = 1e-4


def bind(net: Any, model: Model, params: tuple[dict[str, Any], ...], batch: int) -> Any:
    """An executor with the parameters, and for the input what all runners get."""
    executor = net.simple_bind(mx.cpu(), grad_req="null", **model.shapes(batch))
    executor.copy_params_from(*params)
    executor.arg_dict["data"][:] = model.make_data(batch)
    return executor


def forward(executor: Any) -> npt.NDArray[np.float32]:
    found: npt.NDArray[np.float32] = executor.forward(is_train=False)[0].asnumpy()
    return found.copy()


@pytest.fixture(autouse=True)
def _threads_stay() -> Iterator[None]:
    before = mx.get_num_threads()
    yield
    mx.set_num_threads(before)


@pytest.mark.sampled(3, "whole networks, six executors each")
@pytest.mark.parametrize("name", MODELS)
def test_equals_naive(name: str) -> None:
    model = MODELS[name]
    net = mx.model_zoo.symbols.get_symbol(model.zoo)
    args, aux = draw_parameters(net, model)
    settle(net, model, args, aux)
    params = tuple({k: mx.nd.array(v) for k, v in part.items()} for part in (args, aux))
    for batch, threads in THREADS.items():
        mx.set_num_threads(1)
        with config.override(**NAIVE):
            naive = bind(net, model, params, batch)
            want = forward(naive)
        mx.set_num_threads(threads)
        fast = bind(net, model, params, batch)
        scale = np.abs(want).max()
        for run in ("first", "recorded", "replayed"):
            np.testing.assert_allclose(forward(fast) / scale, want / scale, rtol=0,
                                       atol=OF_THE_SCALE, err_msg=f"batch {batch}, {run}")
        assert fast.capture_state == "captured"
        assert naive.capture_state != "captured"
        totals = fast.explain(repeat=1).totals
        assert totals["reference"] == totals["numpy"] == 0
