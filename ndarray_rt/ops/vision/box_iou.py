"""_contrib_box_iou: how much boxes overlap, each with each."""

from __future__ import annotations

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, params_class
from ...op.registry import OpDef, Shape, register
from ..floats import same_float_type, wide
from .geometry import areas, box_format, corners, intersections
from .shared import zero_gradient


@params_class
class BoxIoUParams(Params):
    format: str = box_format("corner", "what a box is")


def need_boxes(shape: Shape | None, what: str) -> Shape | None:
    """A shape of boxes with what is known of it."""
    if shape is None:
        return None
    if len(shape) < 2 or shape[-1] not in (-1, 4):
        raise ShapeError(f"{what} has shape {shape}, expected (..., 4) of rank 2 or more")
    return (*shape[:-1], 4)


def infer_shape(p: BoxIoUParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    lhs, rhs = need_boxes(ins[0], "lhs"), need_boxes(ins[1], "rhs")
    if lhs is None or rhs is None:
        return [lhs, rhs], outs
    out = merge(outs[0], (*lhs[:-1], *rhs[:-1]), "output shapes")
    if out is not None:
        lhs, rhs = (*out[:len(lhs) - 1], 4), (*out[len(lhs) - 1:], 4)
    return [lhs, rhs], [out]


def compute(ctx: OpContext, p: BoxIoUParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    centered = p.format == "center"
    lhs, rhs = wide(ins[0]).reshape(-1, 4), wide(ins[1]).reshape(-1, 4)
    both = intersections(corners(lhs, centered)[:, None], corners(rhs, centered))
    either = areas(lhs, centered)[:, None] + areas(rhs, centered) - both
    either[both <= 0] = 1
    outs[0].write((both / either).reshape(outs[0].shape).astype(ins[0].dtype, copy=False))


register(OpDef("_contrib_box_iou", BoxIoUParams, inputs=("lhs", "rhs"), infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, gradient=zero_gradient,
               doc="Intersection over union of each box of lhs with each of rhs.\n\n"
                   "lhs (..., 4), rhs (..., 4); the output has the leading axes of both. Boxes "
                   "without a common part give 0. The gradient is zero. One float dtype. Source: "
                   "MXNet's _contrib_box_iou."))
