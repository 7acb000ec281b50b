"""Weights that the graph itself computes from its input: packed in each run, if at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config

Symbol = mx.sym.Symbol
DATA = (32, 32, 6, 6)


def weight(x: Symbol, *shape: int) -> Symbol:
    """An array of this shape, other than that of the last input."""
    return mx.sym.tanh(mx.sym.reshape(
        mx.sym.slice_axis(mx.sym.reshape(x, shape=(-1,)), axis=0, begin=0, end=int(np.prod(shape))),
        shape=shape))


def recurrent(x: Symbol) -> Symbol:
    size = 4 * 16 * (36 + 16 + 2)
    states = mx.sym.zeros((1, 32, 16))
    return mx.sym.RNN(mx.sym.reshape(x, shape=(32, 32, 36)), weight(x, size), states, states,
                      state_size=16, num_layers=1, mode="lstm")


def folded(x: Symbol) -> Symbol:
    """A norm with computed factors, which inference folds into the convolution."""
    y = mx.sym.Convolution(x, kernel=(3, 3), num_filter=16, name="conv")
    return mx.sym.BatchNorm(y, gamma=weight(x, 16), fix_gamma=False, name="norm")


def attention(x: Symbol) -> Symbol:
    queries, keys = (mx.sym.reshape(mx.sym.tanh(x * s), shape=(32, 32, 36)) for s in (1, 2))
    scores = mx.sym.softmax(mx.sym.batch_dot(queries, keys, transpose_b=True) * 0.2)
    return mx.sym.batch_dot(scores, keys)


LAYERS: dict[str, Callable[[Symbol], Symbol]] = {
    "window": lambda x: mx.sym.Convolution(x, weight(x, 32, 32, 3, 3), kernel=(3, 3),
                                           num_filter=32, no_bias=True),
    "pixel": lambda x: mx.sym.Convolution(x, weight(x, 48, 32, 1, 1), kernel=(1, 1),
                                          num_filter=48, no_bias=True),
    "depthwise": lambda x: mx.sym.Convolution(x, weight(x, 32, 1, 3, 3), kernel=(3, 3),
                                              num_filter=32, num_group=32, no_bias=True),
    "transposed": lambda x: mx.sym.Deconvolution(x, weight(x, 32, 16, 3, 3), kernel=(3, 3),
                                                 num_filter=16, no_bias=True),
    "dense": lambda x: mx.sym.FullyConnected(
        mx.sym.slice_axis(mx.sym.reshape(x, shape=(32, 1152)), axis=1, begin=0, end=256),
        weight(x, 40, 256), num_hidden=40, no_bias=True),
    "few rows": lambda x: mx.sym.FullyConnected(
        mx.sym.slice(mx.sym.reshape(x, shape=(32, 1152)), begin=(0, 0), end=(2, 256)),
        weight(x, 40, 256), num_hidden=40, no_bias=True),
    "recurrent": recurrent,
    "folded": folded,
    "attention": attention,
    "layer norm": lambda x: mx.sym.LayerNorm(x, weight(x, 6), weight(x, 6)),
    "embedding": lambda x: mx.sym.Embedding(mx.sym.abs(x) * 9, weight(x, 10, 8), input_dim=10,
                                            output_dim=8),
    "slopes": lambda x: mx.sym.LeakyReLU(mx.sym.Convolution(
        x, kernel=(1, 1), num_filter=16, name="conv"), weight(x, 16), act_type="prelu"),
}


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_each_run_has_its_own_weights(layer: str, passes: bool) -> None:
    symbol = LAYERS[layer](mx.sym.relu(mx.sym.Variable("data")) * 0.5)
    with config.override(NDRT_SKIP_PASSES="" if passes else "all"):
        executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=DATA)
        rng = np.random.default_rng(3)
        for array in {**executor.arg_dict, **executor.aux_dict}.values():
            array[:] = rng.uniform(0.5, 1, array.shape)
        for run in range(6):
            executor.arg_dict["data"][:] = rng.uniform(-1, 1, DATA)
            got = executor.forward()[0].asnumpy()
            with config.override(NDRT_ONEDNN=False):
                bound = symbol.bind(mx.cpu(), executor.arg_dict, grad_req="null",
                                    aux_states=executor.aux_dict)
                want = bound.forward()[0].asnumpy()
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max(),
                                       err_msg=f"run {run}, {executor.capture_state}")
