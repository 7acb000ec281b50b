"""`gluon.rnn`: recurrent cells, and layers that run a whole sequence in one operator."""

from __future__ import annotations

from ...public import shows
from .rnn_cell import (
    BidirectionalCell,
    DropoutCell,
    GRUCell,
    HybridRecurrentCell,
    HybridSequentialRNNCell,
    LSTMCell,
    ModifierCell,
    RecurrentCell,
    ResidualCell,
    RNNCell,
    SequentialRNNCell,
    ZoneoutCell,
)
from .rnn_layer import GRU, LSTM, RNN

__all__ = ["GRU", "LSTM", "RNN", "BidirectionalCell", "DropoutCell", "GRUCell",
           "HybridRecurrentCell", "HybridSequentialRNNCell", "LSTMCell", "ModifierCell",
           "RNNCell", "RecurrentCell", "ResidualCell", "SequentialRNNCell", "ZoneoutCell"]
__dir__ = shows(globals())
