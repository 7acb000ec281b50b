"""Recurrent cells, by the names they have in MXNet's module of the same name."""

from __future__ import annotations

from ...public import shows
from .base_cell import HybridRecurrentCell, RecurrentCell
from .basic_cells import GRUCell, LSTMCell, RNNCell
from .modifier_cells import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from .stacked_cells import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell

__all__ = ["BidirectionalCell", "DropoutCell", "GRUCell", "HybridRecurrentCell",
           "HybridSequentialRNNCell", "LSTMCell", "ModifierCell", "RNNCell", "RecurrentCell",
           "ResidualCell", "SequentialRNNCell", "ZoneoutCell"]
__dir__ = shows(globals())
