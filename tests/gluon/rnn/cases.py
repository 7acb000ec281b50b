"""Recurrent blocks with small inputs, for MXNet and this package alike: `run` gives all numbers.

This module is read by MXNet's Python too (data/make_mxnet_gluon_rnn.py), so it imports neither.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LENGTHS = np.array([4, 2], np.float32)
SIZES = {"layout": "NTC", "merge_outputs": True}


def _stack(rnn: Any) -> Any:
    cell = rnn.HybridSequentialRNNCell()
    cell.add(rnn.LSTMCell(3, input_size=5))
    cell.add(rnn.ResidualCell(rnn.GRUCell(3, input_size=3)))
    cell.add(rnn.BidirectionalCell(rnn.RNNCell(2, input_size=3), rnn.GRUCell(2, input_size=3)))
    return cell


CELLS: dict[str, Any] = {
    "rnn": lambda rnn: rnn.RNNCell(3, activation="relu", input_size=5),
    "lstm": lambda rnn: rnn.LSTMCell(3, input_size=5),
    "lstm_activations": lambda rnn: rnn.LSTMCell(3, input_size=5, activation="softsign",
                                                 recurrent_activation="tanh"),
    "gru": lambda rnn: rnn.GRUCell(3, input_size=5),
    "residual": lambda rnn: rnn.ResidualCell(rnn.GRUCell(5, input_size=5)),
    "bidirectional": lambda rnn: rnn.BidirectionalCell(rnn.LSTMCell(3, input_size=5),
                                                       rnn.LSTMCell(3, input_size=5)),
    "stack": _stack,
}
# (shape of one step, cell) of contrib.rnn
CONVOLUTIONAL: dict[str, Any] = {
    "rnn": ((3, 6), lambda rnn: rnn.Conv1DRNNCell((3, 6), 2, 3, 3)),
    "rnn_3d": ((2, 3, 4, 5), lambda rnn: rnn.Conv3DRNNCell((2, 3, 4, 5), 2, (1, 3, 2), (1, 3, 5),
                                                           activation="softsign")),
    "lstm": ((3, 6, 5), lambda rnn: rnn.Conv2DLSTMCell((3, 6, 5), 2, 3, (3, 1), i2h_pad=1,
                                                       h2h_dilate=(2, 1))),
    "gru": ((3, 6, 5), lambda rnn: rnn.Conv2DGRUCell((3, 6, 5), 2, (2, 3), 3, i2h_pad=(1, 0),
                                                     i2h_dilate=(1, 2), activation="relu")),
    "gru_1d": ((3, 6), lambda rnn: rnn.Conv1DGRUCell((0, 6), 2, (3,), (3,))),
}
LAYERS: dict[str, Any] = {
    "rnn": lambda rnn: rnn.RNN(3, 2),
    "rnn_tanh": lambda rnn: rnn.RNN(3, activation="tanh", layout="NTC", bidirectional=True),
    "lstm": lambda rnn: rnn.LSTM(3, 2, bidirectional=True),
    "lstm_ntc": lambda rnn: rnn.LSTM(3, layout="NTC", input_size=5),
    "gru": lambda rnn: rnn.GRU(3, 2, bidirectional=True),
}


def set_parameters(mx: Any, block: Any) -> None:
    """Values that follow from the order and the shapes."""
    for i, param in enumerate(block.collect_params().values()):
        param.set_data(mx.nd.array(np.random.RandomState(i).uniform(-1, 1, param.shape)))


def _numbers(mx: Any, block: Any, call: Any, x: Any) -> dict[str, np.ndarray]:
    """Output, states, and gradients of the input and all parameters."""
    for _ in range(2):  # the second of a hybridized block is recorded
        x.attach_grad()
        with mx.autograd.record():
            output, states = call(x)
            total = (output * output).sum()
            for i, state in enumerate(states):
                total = total + (state * (i + 1)).sum()
        total.backward()
    found = {"output": output.asnumpy(), "input_grad": x.grad.asnumpy()}
    found.update({f"state{i}": state.asnumpy() for i, state in enumerate(states)})
    found.update({f"grad{i}": param.grad().asnumpy()
                  for i, param in enumerate(block.collect_params().values())})
    return found


def run_cell(mx: Any, name: str, has_lengths: bool, is_hybrid: bool) -> dict[str, np.ndarray]:
    """Four steps of a cell over two samples."""
    cell = CELLS[name](mx.gluon.rnn)
    cell.initialize()
    set_parameters(mx, cell)
    if is_hybrid:
        cell.hybridize()
    lengths = mx.nd.array(LENGTHS) if has_lengths else None
    x = mx.nd.array(np.random.RandomState(5).uniform(-1, 1, (2, 4, 5)))
    return _numbers(mx, cell, lambda x: cell.unroll(4, x, valid_length=lengths, **SIZES), x)


def run_convolutional(mx: Any, name: str, is_hybrid: bool) -> dict[str, np.ndarray]:
    """Three steps of a convolutional cell over two samples."""
    shape, build = CONVOLUTIONAL[name]
    cell = build(mx.gluon.contrib.rnn)
    cell.initialize()
    x = mx.nd.array(np.random.RandomState(5).uniform(-1, 1, (2, 3, *shape)))
    cell.unroll(3, x, layout="NTC")  # shapes follow from it
    set_parameters(mx, cell)
    if is_hybrid:
        cell.hybridize()
    return _numbers(mx, cell, lambda x: cell.unroll(3, x, **SIZES), x)


def run_layer(mx: Any, name: str, is_hybrid: bool) -> dict[str, np.ndarray]:
    """A layer over a sequence, from states that are not 0."""
    layer = LAYERS[name](mx.gluon.rnn)
    layer.initialize()
    x = mx.nd.array(np.random.RandomState(5).uniform(-1, 1, (4, 4, 5)))
    layer(x)  # shapes follow from it
    set_parameters(mx, layer)
    if is_hybrid:
        layer.hybridize()
    states = [state + 0.1 * (i + 1) for i, state in enumerate(layer.begin_state(4))]
    return _numbers(mx, layer, lambda x: layer(x, states), x)


def names(mx: Any) -> dict[str, list[str]]:
    """Names of parameters, and of all nodes of the graph of three steps of each cell."""
    found = {}
    for name, build in CELLS.items():
        with mx.name.NameManager():
            cell = build(mx.gluon.rnn)
            outputs, _ = cell.unroll(3, mx.sym.var("data"), layout="NTC", merge_outputs=True)
            nodes = outputs.get_internals().list_outputs()
            found[f"cell.{name}"] = [*cell.collect_params(), *nodes]
    for name, (_, build) in CONVOLUTIONAL.items():
        with mx.name.NameManager():
            cell = build(mx.gluon.contrib.rnn)
            steps = [mx.sym.var(f"x{i}") for i in range(2)]
            nodes = mx.sym.Group(cell.unroll(2, steps)[0]).get_internals().list_outputs()
            found[f"conv.{name}"] = [*cell.collect_params(), repr(cell), *nodes]
    for name, build in LAYERS.items():
        with mx.name.NameManager():
            layer = build(mx.gluon.rnn)
            inner = layer(mx.sym.var("data")).get_internals()
            found[f"layer.{name}"] = [*layer.collect_params(), repr(layer),
                                      *layer._collect_params_with_prefix(), *inner.list_outputs()]
    return found
