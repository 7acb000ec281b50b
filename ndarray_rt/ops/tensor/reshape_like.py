"""reshape_like: the elements of one array under the shape of another, or of a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, known, merge
from ...op.params import Params, optional_integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from .broadcast import infer_type_first
from .pointwise import need_bytes, reshape


@params_class
class ReshapeLikeParams(Params):
    lhs_begin: int | None = optional_integer(doc="first axis of lhs that goes; None: 0")
    lhs_end: int | None = optional_integer(doc="end of those, not included; None: its rank")
    rhs_begin: int | None = optional_integer(doc="first axis of rhs that comes; None: 0")
    rhs_end: int | None = optional_integer(doc="end of those, not included; None: its rank")


def _span(begin: int | None, end: int | None, shape: Shape, side: str) -> slice:
    rank = len(shape)
    first = 0 if begin is None else begin + rank if begin < 0 else begin
    last = rank if end is None else end + rank if end < 0 else end
    if not 0 <= first < last <= rank:
        raise ShapeError(f"{side}_begin={begin}, {side}_end={end} name no axes of {side}, which "
                         f"has shape {shape}")
    return slice(first, last)


def infer_shape(p: ReshapeLikeParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    lhs, rhs = ins
    if lhs is None or rhs is None:
        return ins, outs
    if p == ReshapeLikeParams():
        target = rhs
    else:
        gone = _span(p.lhs_begin, p.lhs_end, lhs, "lhs")
        target = (*lhs[:gone.start], *rhs[_span(p.rhs_begin, p.rhs_end, rhs, "rhs")],
                  *lhs[gone.stop:])
    out = merge(outs[0], target, "output shapes")
    if known(lhs) and out is not None and known(out) and prod(lhs) != prod(out):
        raise ShapeError(f"lhs has shape {lhs} with {prod(lhs)} elements, expected {prod(out)} "
                         f"from the target {out}")
    return ins, [out]


def compute(ctx: OpContext, p: ReshapeLikeParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0].reshape(outs[0].shape))


def refuses(p: ReshapeLikeParams, ins: list[NDArray]) -> str | None:
    return need_bytes(ins[0])


def compute_ex(ctx: OpContext, p: ReshapeLikeParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    reshape(ctx, ins[0], outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    lhs, rhs = node.inputs
    return [*emit("_backward_reshape", None, out_grads[0], lhs), emit.zeros_like(rhs)]


register(OpDef("reshape_like", ReshapeLikeParams, inputs=("lhs", "rhs"), infer_shape=infer_shape,
               infer_type=infer_type_first, compute=compute, compute_ex=compute_ex,
               refuses=refuses, gradient=gradient, inplace={0: 0}, reshapes=True,
               ignores=(1,),
               doc="lhs under the shape of rhs; with bounds, some axes of lhs are replaced by some "
                   "of rhs.\n\nBoth shapes have as many elements. The order of the elements in "
                   "row-major order and the dtype stay. Source: MXNet's reshape_like."))
