"""_contrib_box_nms: boxes that no better box overlaps with, best first."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT32, UINT8
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels.vision import box_nms
from ..floats import need_float_types, wide
from .geometry import areas, box_format, by_score, corners, keep_best
from .shared import need_plain, plain

WORDS = 9  # of scratch that the native kernel has for a box


@params_class
class BoxNMSParams(Params):
    overlap_thresh: float = number(0.5, doc="boxes that overlap by more with a better one go")
    valid_thresh: float = number(0.0, doc="boxes go whose score is not above it")
    topk: int = integer(-1, doc="so many best boxes are looked at; below 0: all; 0: all are kept "
                                "as they are")
    coord_start: int = integer(2, low=0, doc="where a row has its four coordinates")
    score_index: int = integer(1, low=0, doc="where a row has its score")
    id_index: int = integer(-1, doc="where a row has its class; below 0: nowhere")
    background_id: int = integer(-1, doc="boxes of this class go")
    force_suppress: bool = boolean(False, doc="boxes of other classes count, too")
    in_format: str = box_format("corner", "what a box is in data")
    out_format: str = box_format("corner", "what it is in the output")

    def check(self, width: int) -> None:
        """ShapeError where rows of this width do not have what the parameters name."""
        need = 6 if self.id_index >= 0 else 5
        if width < need:
            raise ShapeError(f"data has rows of {width}, expected at least {need}")
        end = self.coord_start + 3
        if end >= width:
            raise ShapeError(f"coord_start={self.coord_start}: rows of {width} end before {end}")
        for name in ("score_index", "id_index"):
            at = getattr(self, name)
            if at >= width or self.coord_start <= at <= end:
                raise ShapeError(f"{name}={at} is not within rows of {width}, or is one of the "
                                 f"coordinates {self.coord_start} to {end}")
        if self.id_index == self.score_index:
            raise ShapeError(f"id_index and score_index are both {self.id_index}")


def infer_shape(p: BoxNMSParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if data is None:
        return [None], [None, outs[1]]
    if len(data) < 2:
        raise ShapeError(f"data has shape {data}, expected (..., boxes, width)")
    if data[-1] != -1:
        p.check(data[-1])
    record = merge(outs[1], (*data[:-1], 1), "shapes of data and record")
    if record is not None:
        data = (*record[:-1], data[-1])
    return [data], [data, record]


def infer_type(p: BoxNMSParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    need_float_types([one])
    return [one], [one, INT32]


def _change_format(boxes: AnyArray, to_center: bool) -> AnyArray:
    """Boxes in the other format; as in MXNet one that begins left of 0 stays as it is."""
    if to_center:
        made = np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], 1)
    else:
        made = corners(boxes, True)
    kept: AnyArray = np.where(boxes[:, :1] < 0, boxes, made)
    return kept


def _suppress(p: BoxNMSParams, rows: AnyArray) -> AnyArray:
    """Places of the rows that stay, best first."""
    score = rows[:, p.score_index]
    valid = score > rows.dtype.type(p.valid_thresh)
    if p.id_index >= 0:
        valid &= rows[:, p.id_index] != p.background_id
    places = np.flatnonzero(valid)
    places = places[by_score(score[places])]
    if p.topk > 0:
        places = places[:p.topk]
    boxes = rows[places, p.coord_start:p.coord_start + 4]
    centered = p.in_format == "center"
    kinds = None
    if p.id_index >= 0 and not p.force_suppress:
        kinds = np.trunc(rows[places, p.id_index])
    # the threshold has single precision, as in MXNet
    kept: AnyArray = places[keep_best(corners(boxes, centered), areas(boxes, centered), kinds,
                                      np.float32(p.overlap_thresh), False)]
    return kept


def compute(ctx: OpContext, p: BoxNMSParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data = wide(ins[0])
    count, width = data.shape[-2:]
    rows = data.reshape(-1, count, width) if data.size else data.reshape(0, count, width)
    if p.topk == 0:
        outs[0].write(ins[0])
        outs[1].write(np.broadcast_to(np.arange(count, dtype=np.int32)[:, None], outs[1].shape))
        return
    made = np.full(rows.shape, -1, rows.dtype)
    record = np.full(rows.shape[:2], -1, np.int32)
    at = slice(p.coord_start, p.coord_start + 4)
    for i, batch in enumerate(rows):
        places = _suppress(p, batch)
        kept = batch[places]
        if p.in_format != p.out_format:
            kept[:, at] = _change_format(kept[:, at], p.out_format == "center")
        made[i, :len(places)] = kept
        record[i, :len(places)] = places
    outs[0].write(made.reshape(data.shape).astype(ins[0].dtype, copy=False))
    outs[1].write(record.reshape(outs[1].shape))


def refuses(p: BoxNMSParams, ins: list[NDArray]) -> str | None:
    if p.topk == 0:
        return "numpy copies"
    return need_plain(*ins)


def compute_ex(ctx: OpContext, p: BoxNMSParams, ins: list[NDArray], outs: list[Output]) -> None:
    shape, stream = ins[0].shape, ctx.stream
    batches, count, width = prod(shape[:-2]), *shape[-2:]
    most = count if p.topk < 0 else p.topk
    data = plain(ctx, ins[0])
    scratch = stream.scratch(default_desc(UINT8, (batches * count * WORDS * 4,)))
    with (outs[0].open(default_desc(FLOAT32, shape), stream) as y,
          outs[1].open(default_desc(INT32, outs[1].shape), stream) as record):
        ctx.kernel(box_nms(
            out=y, record=record, data=data, scratch=scratch, batches=batches, boxes=count,
            width=width, most=most, coordinates=p.coord_start, score=p.score_index,
            kind=max(p.id_index, -1), force=p.force_suppress, centered=p.in_format == "center",
            to_center=p.out_format == "center", overlap=p.overlap_thresh, valid=p.valid_thresh,
            background=p.background_id))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_contrib_box_nms", node.params, out_grads[0], node.outputs[1])


def infer_shape_backward(p: BoxNMSParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data,), (_, record) = infer_shape(p, outs, [ins[0], ins[1]])
    return [data, record], [data]


def infer_type_backward(p: BoxNMSParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    need_float_types([one])
    return [one, INT32], [one]


def _flat(shape: Shape) -> Shape:
    *outer, count, width = shape
    return prod(outer), count, width


def compute_backward(ctx: OpContext, p: BoxNMSParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    # as in MXNet, gradients are not brought back to the other format
    dy: AnyArray = ins[0].reshape(_flat(ins[0].shape))
    record = ins[1].reshape(dy.shape[:2])
    made = np.zeros(dy.shape, dy.dtype)
    used = np.argwhere((record >= 0) & (record < dy.shape[1]))
    batch, at = used[:, 0], used[:, 1]
    made[batch, record[batch, at]] = dy[batch, at]
    outs[0].write(made.reshape(outs[0].shape))


register(OpDef("_contrib_box_nms", BoxNMSParams, inputs=("data",), outputs=("output", "record"),
               visible_outputs=1, infer_shape=infer_shape, infer_type=infer_type,
               compute=compute, compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               aliases=("_contrib_box_non_maximum_suppression",),
               doc="Non-maximum suppression: the boxes that no better one overlaps with.\n\n"
                   "data (..., boxes, width): rows with a score, four coordinates and, with "
                   "id_index, a class; boxes of other classes do not count unless "
                   "force_suppress. The output has data's shape: the rows that stay, best first, "
                   "then rows of -1. Gradients go to the rows that stay. One float dtype. Raises "
                   "ShapeError where a row does not have what the parameters name. Source: "
                   "MXNet's _contrib_box_nms."))
register(OpDef("_backward_contrib_box_nms", BoxNMSParams, inputs=("out_grad", "record"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward, is_backward=True,
               no_gradient="MXNet has no second-order gradient of it"))
