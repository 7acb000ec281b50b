"""Layers of LSTM over a sequence (Hochreiter and Schmidhuber 1997)."""

from __future__ import annotations

from ... import sym
from ...symbol.symbol import Symbol
from .layers import data_of


def lstm(data: Symbol | str = "data", state_size: int = 512, num_layers: int = 2,
         bidirectional: bool = False, dropout: float = 0.0,
         state_outputs: bool = False) -> Symbol:
    """Layers of LSTM; `data` is (T, N, features), the output (T, N, state_size).

    `rnn_state` and `rnn_state_cell`, the states before the first step, are arguments;
    `rnn_parameters` is the vector of all weights. With `state_outputs` the last states are outputs
    too; `dropout` is between the layers.
    """
    made: Symbol = sym.RNN(data_of(data), mode="lstm", num_layers=num_layers,
                           state_size=state_size, bidirectional=bidirectional, p=dropout,
                           state_outputs=state_outputs, name="rnn")
    return made


MODELS = {"lstm": lstm}
