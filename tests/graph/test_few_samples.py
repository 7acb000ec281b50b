"""LSTM layers for a few samples: the native kernel, and what is left to oneDNN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.op import calibration

RNG = np.random.default_rng(9)


def bound(shape: tuple[int, ...] = (5, 2, 20), size: int = 32, mode: str = "lstm", **params: Any,
          ) -> Any:
    names = ["data", "vector", "state", *(["cell"] if mode == "lstm" else [])]
    net = mx.sym.RNN(*map(mx.sym.var, names), state_size=size, mode=mode, name="rnn",
                     **{"num_layers": 2, "state_outputs": True, **params})
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=shape)
    for name, array in executor.arg_dict.items():
        array[:] = RNG.standard_normal(array.shape) * (0.2 if name == "vector" else 1)
    return executor


def check(executor: Any) -> list[str]:
    """Gives the kernels of a run that is as NumPy's, settled, recorded and replayed."""
    with config.override(NDRT_ONEDNN=False):
        wanted = [out.asnumpy() for out in executor.forward(is_train=False)]
    for _ in range(4):
        for got, want in zip(executor.forward(is_train=False), wanted, strict=True):
            np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert executor.capture_state == "captured"
    return str(executor.explain(repeat=1).rows[0].kernel).split("+")


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [16, 48, 144])
@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.parametrize("state_outputs", [True, False])
def test_equals_numpy(steps: int, size: int, batch: int, state_outputs: bool) -> None:
    kernels = check(bound((steps, batch, 20), size, state_outputs=state_outputs))
    assert ("ndrt:lstm_steps" in kernels) == (batch <= calibration.MOST_SAMPLES)


@pytest.mark.parametrize(("shape", "size", "params"), [
    ((3, 5, 20), 32, {}), ((3, 2, 20), 20, {}), ((3, 2, 20), 32, {"bidirectional": True}),
    ((3, 2, 20), 32, {"projection_size": 16}), ((3, 2, 20), 32, {"mode": "gru"})])
def test_the_rest_is_left_to_onednn(shape: tuple[int, ...], size: int, params: dict[str, Any],
                                    ) -> None:
    assert "ndrt:lstm_steps" not in check(bound(shape, size, **params))


def test_any_number_of_threads_gives_one_result() -> None:
    executor = bound((6, 3, 40), 256)
    made = []
    before = mx.get_num_threads()
    try:
        for threads in (1, 2, 3):
            mx.set_num_threads(threads)
            made.append([out.asnumpy() for out in executor.forward(is_train=False)])
    finally:
        mx.set_num_threads(before)
    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_large_and_lost_values() -> None:
    executor = bound((4, 2, 20), 32)
    executor.arg_dict["data"][0] = 1e4  # saturates the gates
    check(executor)
    executor.arg_dict["data"][1, 1, 3] = np.nan
    made = executor.forward(is_train=False)[0].asnumpy()
    assert np.isfinite(made[:, 0]).all()
    assert np.isfinite(made[0]).all()
    assert np.isnan(made[1:, 1]).all()


def test_parameters_that_are_written_to() -> None:
    executor = bound()
    for _ in range(3):
        executor.arg_dict["vector"][:] = RNG.standard_normal(
            executor.arg_dict["vector"].shape) * 0.3
        check(executor)
