"""ConvolutionCall: all that the implementations of a convolution's forward are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...storage.primitive import Direction
from ..fused.params import own_inputs
from ..fused.post_ops import chain_of_params
from ..fused.run import finish_of
from .conv_geometry import Geometry
from .kept_products import Finish


class ConvolutionCall(NamedTuple):
    """A convolution, what is done to its result, and what the plan has for it.

    `finish` is the chain where the package's kernels can do it, else None.
    """

    params: Any
    geo: Geometry
    chain: Chain
    finish: Finish | None
    data: NDArray
    weight: NDArray
    bias: NDArray | None
    operands: Sequence[NDArray]
    out: Output
    family: str
    is_train: bool

    @property
    def direction(self) -> Direction:
        return Direction.FORWARD_TRAINING if self.is_train else Direction.FORWARD_INFERENCE

    @property
    def operand_shapes(self) -> list[tuple[int, ...]]:
        return [operand.shape for operand in self.operands]


def convolution_call(ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output],
                     ) -> ConvolutionCall:
    """The call of a convolution with these parameters."""
    chain, operands = chain_of_params(p), ins[own_inputs(p):]
    return ConvolutionCall(p, p.geometry(), chain, finish_of(chain, operands, outs[0].shape),
                           ins[0], ins[1], None if p.no_bias else ins[2], operands, outs[0],
                           ctx.family, ctx.is_train)
