"""Writes the golden files of this folder. Run with the real MXNet 1.9.1: python make_golden.py"""

from __future__ import annotations

import pathlib
from typing import Any

import mxnet as mx
import numpy as np
from configs import CONFIGS, heads, inputs

HERE = pathlib.Path(__file__).parent


def numbers(config: dict[str, Any]) -> dict[str, Any]:
    """Outputs with all states, and where MXNet has them gradients of all inputs."""
    arrays = [mx.nd.array(value) for value in inputs(config)]
    trains = "projection_size" not in config
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record() if trains else mx.autograd.pause():
        outputs = mx.nd.RNN(*arrays, state_size=6, state_outputs=True, **config)
    found = {f"output{i}": out.asnumpy() for i, out in enumerate(outputs)}
    if trains:
        mx.autograd.backward(outputs, [mx.nd.array(g) for g in heads(list(found.values()))])
        found.update({f"grad{i}": array.grad.asnumpy() for i, array in enumerate(arrays)})
    return found


def lstm() -> mx.sym.Symbol:
    """A symbol around an RNN, its parameters and its answer."""
    data = mx.sym.Variable("data")
    made = mx.sym.RNN(mx.sym.transpose(data, axes=(1, 0, 2)), mode="lstm", num_layers=2,
                      state_size=6, bidirectional=True, state_outputs=True, p=0.3, name="lstm")
    scores = mx.sym.FullyConnected(made[0], num_hidden=3, flatten=False, name="fc")
    return mx.sym.Group([scores, made[1], made[2]])


def gluon() -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    """gluon's own layer, which makes the vector of parameters from parts."""
    layer = mx.gluon.rnn.LSTM(6, 2, layout="NTC", bidirectional=True, prefix="lstm_")
    layer.initialize(mx.init.Uniform(1))
    layer.hybridize()
    mx.random.seed(3)
    data = mx.nd.array(np.random.RandomState(5).uniform(-1, 1, (3, 4, 5)))
    answer = layer(data)
    layer.export(str(HERE / "gluon_lstm"))
    return data, answer


def main() -> None:
    found = {f"{name}.{key}": value for name, config in CONFIGS.items()
             for key, value in numbers(config).items()}
    symbol = lstm()
    symbol.save(str(HERE / "lstm-symbol.json"))
    rng = np.random.RandomState(7)
    executor = symbol.simple_bind(mx.cpu(), data=(3, 4, 5), grad_req="null")
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-1, 1, array.shape)
    for i, out in enumerate(executor.forward(is_train=False)):
        found[f"symbol.{i}"] = out.asnumpy()
    found["gluon.data"], found["gluon.answer"] = (array.asnumpy() for array in gluon())
    np.savez_compressed(HERE / "golden.npz", **found)


if __name__ == "__main__":
    main()
