"""RNNCall: all that the implementations of RNN's forward are given."""

from __future__ import annotations

from typing import NamedTuple

from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...op.context import OpContext
from .params import RNNParams


class Mask(NamedTuple):
    """Which steps (T, N, 1) count, in bytes; where one does not, the output is the state or 0."""

    counts: NDArray
    holds: bool


class RNNCall(NamedTuple):
    """Layers of recurrent cells, and whose kernels the plan has for them. Of one layer steps may be
    left out."""

    params: RNNParams
    ins: list[NDArray]
    outs: list[Output]
    variant: str
    mask: Mask | None = None

    @property
    def weight(self) -> NDArray:
        return self.ins[1]


def rnn_call(ctx: OpContext, p: RNNParams, ins: list[NDArray], outs: list[Output]) -> RNNCall:
    """The call of RNN with these parameters."""
    return RNNCall(p, ins, outs, ctx.variant)
