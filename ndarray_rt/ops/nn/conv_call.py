"""ConvolutionCall: all that the implementations of a convolution's forward are given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from ..._array.layout import get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.packing import weights
from ...storage.desc import channels_last_desc
from ...storage.primitive import Arg, Direction, Primitive
from ...storage.stream import Mem
from ..fused.params import own_inputs
from ..fused.post_ops import chain_of_params
from ..fused.run import choose, native_epilogue, run
from .conv_geometry import Geometry
from .packed_gemm import NativeEpilogue


class ConvolutionCall(NamedTuple):
    """A convolution, what is done to its result, and what the plan has for it.

    `epilogue` is the chain where native kernels can do it, else None.
    """

    params: Any
    geo: Geometry
    chain: Chain
    epilogue: NativeEpilogue | None
    data: NDArray
    weight: NDArray
    bias: NDArray | None
    operands: Sequence[NDArray]
    out: Output
    variant: str
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
    return ConvolutionCall(p, p.geometry(), chain, native_epilogue(chain, operands, outs[0].shape),
                           ins[0], ins[1], None if p.no_bias else ins[2], operands, outs[0],
                           ctx.variant, ctx.is_train)


def run_over_channels_last(ctx: OpContext, call: ConvolutionCall, name: str,
                           build: Callable[[bool], Primitive]) -> None:
    """Computes a call by a primitive that sees channels-last arrays as something else.

    `build(in_place)` makes the primitive; `name` tells the primitives of different builders apart.
    """
    dtype = call.data.dtype
    sign: tuple[Hashable, ...] = (name, call.params, call.data.shape, *call.operand_shapes)
    seen = channels_last_desc(dtype, call.out.shape)
    fused = choose(ctx, sign, build, call.chain, call.operands, call.out, seen)
    # the weight first: converting it may move its memory
    w = weights(ctx, call.weight, fused.prim.weights)
    src = get_data_reorder(call.data, channels_last_desc(dtype, call.data.shape), ctx.stream)
    args: list[tuple[int, Mem]] = [(Arg.SRC, src.as_desc(fused.prim.src)), (Arg.WEIGHTS, w)]
    if call.bias is not None:
        args.append((Arg.BIAS, get_default(call.bias, ctx.stream)))
    run(ctx, fused, call.chain, call.operands, call.out, args, seen)
