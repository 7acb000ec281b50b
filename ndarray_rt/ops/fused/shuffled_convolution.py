"""_fused_shuffled_Convolution: a 1x1 convolution of shuffled channels, which it reads in place."""

from __future__ import annotations

from dataclasses import replace

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError, Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList
from ...op.layout_cost import LayoutCost, reorder_cost
from ...op.params import integer, params_class
from ...op.registry import Shape, register
from ..nn import convolution as plain
from ..nn.conv_call import convolution_call
from ..nn.pointwise_convolution import accepts_pixels, run_pixels
from .params import with_post_ops
from .shuffle_channels import shuffled


@params_class
class ShuffledConvolutionParams(plain.FusedConvolutionParams):
    shuffled: int = integer(1, low=1, doc="groups that the channels are shuffled from")


def infer_shape(p: ShuffledConvolutionParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    made = plain.infer_shape(p, ins, outs)
    data = made[0][0]
    if data is not None and data[1] != -1 and data[1] % p.shuffled:
        raise ShapeError(f"data {data} has {data[1]} channels, expected a multiple of "
                         f"shuffled={p.shuffled}")
    return made


def compute(ctx: OpContext, p: ShuffledConvolutionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    plain.compute(ctx, p, [shuffled(ins[0], p.shuffled), *ins[1:]], outs)


def refuses(p: ShuffledConvolutionParams, ins: list[NDArray]) -> str | None:
    if p.shuffled > lib.NDRT_MOST_SHUFFLED:
        return f"shuffled from more than {lib.NDRT_MOST_SHUFFLED} groups"
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: ShuffledConvolutionParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    call = convolution_call(ctx, p, ins, outs)
    reason = accepts_pixels(ctx, call)
    if reason is not None:
        raise Unsupported(reason)
    run_pixels(ctx, call, p.shuffled)


def _layout_cost(p: ShuffledConvolutionParams, data: Shape, out: Shape) -> LayoutCost:
    """One kernel for all layouts, which reads and writes channels-last ones."""
    return LayoutCost(0.0, reorder_cost(data) + reorder_cost(out))


register(with_post_ops(
    replace(plain.CONVOLUTION, name="shuffled_Convolution", infer_shape=infer_shape,
            compute=compute, compute_ex=compute_ex, refuses=refuses, epilogue=None,
            layout_cost=_layout_cost),
    ShuffledConvolutionParams,
    "A 1x1 convolution of data whose channels are shuffled before, as _shuffle_channels does.\n\n"
    "Inputs are those of _fused_Convolution. Made by passes. Source: Zhang et al. 2017 "
    "(ShuffleNet)."))
