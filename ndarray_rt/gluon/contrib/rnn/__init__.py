"""`gluon.contrib.rnn`: recurrent cells that are not in `gluon.rnn`."""

from __future__ import annotations

from ....public import shows
from .rnn_cell import LSTMPCell, VariationalDropoutCell, dynamic_unroll

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]
__dir__ = shows(globals())
