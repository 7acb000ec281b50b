"""RNN: its layers one by one, from the vector of all weights."""

from __future__ import annotations

import numpy as np

from ....ops.rnn.params import Place, RNNParams, places
from ...graph import Array
from ..call import Call
from ..table import Refused, exports

_NAMES = {"rnn_relu": "RNN", "rnn_tanh": "RNN", "lstm": "LSTM", "gru": "GRU"}
# ONNX's gates among MXNet's: i f g o -> i o f c; r z n -> z r h
_ORDER = {"rnn_relu": (0,), "rnn_tanh": (0,), "lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}


@exports("RNN")
def rnn(c: Call) -> list[str]:
    p: RNNParams = c.p
    vector = c.value(1)
    if vector is None:
        raise Refused("its weights are no parameters")
    if p.projection_size is not None:
        raise Refused("ONNX's LSTM has no projection")
    if p.clip is not None:
        raise Refused("ONNX's LSTM does not clip cells")
    x = c.input(0)
    features = c.fixed(c.shape()[2:], "the length of data's last axis")[0]
    lengths = c.cast(c.input(c.count - 1), np.int32) if p.use_sequence_length else ""
    states = [_by_layer(c, 2 + i) for i in range(p.states)]
    last: list[list[str]] = [[] for _ in range(p.states)]
    for layer, row in enumerate(places(p, features)):
        weights = [c.const(made) for made in _weights(p, vector, row, p.layer_input(
            layer, features))]
        made = c.ops(_NAMES[p.mode], 1 + p.states, x, *weights, lengths,
                     *(state[layer] for state in states), hidden_size=p.state_size,
                     direction="bidirectional" if p.bidirectional else None,
                     linear_before_reset=1 if p.mode == "gru" else None,
                     activations=["Relu"] * p.directions if p.mode == "rnn_relu" else None)
        # (steps, directions, batch, size) with both directions side by side
        x = (c.squeeze(made[0], 1) if p.directions == 1 else
             c.op("Reshape", c.transpose(made[0], (0, 2, 1, 3)), c.ints(0, 0, -1)))
        for kept, state in zip(last, made[1:], strict=True):
            kept.append(state)
    if not p.state_outputs:
        return [x]
    return [x, *(kept[0] if len(kept) == 1 else c.op("Concat", *kept, axis=0) for kept in last)]


def _by_layer(c: Call, i: int) -> list[str]:
    """The first states of each layer; '' where they are zeros, as ONNX has it without them."""
    p: RNNParams = c.p
    if c.is_zeros(i):
        return [""] * p.num_layers
    return c.split(c.input(i), [p.directions] * p.num_layers, 0)


def _weights(p: RNNParams, vector: Array, row: list[Place], inputs: int) -> list[Array]:
    """ONNX's W, R and B of a layer, one direction after the other."""
    def gates(start: int, *shape: int) -> Array:
        size = p.rows * int(np.prod(shape))
        parts = vector[start:start + size].reshape(p.gates, p.state_size, *shape)
        return parts[list(_ORDER[p.mode])].reshape(p.rows, *shape)
    return [np.stack([gates(place.i2h, inputs) for place in row]),
            np.stack([gates(place.h2h, p.state_size) for place in row]),
            np.stack([np.concatenate([gates(place.i2h_bias), gates(place.h2h_bias)])
                      for place in row])]
