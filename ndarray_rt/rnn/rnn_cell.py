"""All cells, under the path that MXNet has them at."""

from __future__ import annotations

from ..public import shows
from .base_cell import BaseRNNCell, RNNParams
from .basic_cells import GRUCell, LSTMCell, RNNCell
from .conv_cells import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from .fused_cell import FusedRNNCell
from .modifier_cells import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from .stacked_cells import BidirectionalCell, SequentialRNNCell

__all__ = ["BaseConvRNNCell", "BaseRNNCell", "BidirectionalCell", "ConvGRUCell", "ConvLSTMCell",
           "ConvRNNCell", "DropoutCell", "FusedRNNCell", "GRUCell", "LSTMCell", "ModifierCell",
           "RNNCell", "RNNParams", "ResidualCell", "SequentialRNNCell", "ZoneoutCell"]
__dir__ = shows(globals())
