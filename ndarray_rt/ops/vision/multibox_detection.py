"""_contrib_MultiBoxDetection: what a network with anchors has found."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, UINT8
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_dim
from ...op.params import Params, boolean, integer, number, numbers, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels.vision import multibox_detection
from ..floats import same_float_type, wide
from .geometry import by_score, keep_best
from .shared import fits, need_plain, plain, zero_gradient

WORDS = 15  # of scratch that the native kernel has for an anchor


@params_class
class MultiBoxDetectionParams(Params):
    clip: bool = boolean(True, doc="boxes do not leave [0, 1]")
    threshold: float = number(0.01, doc="the least probability of a class that counts")
    background_id: int = integer(0, doc="accepted and ignored, as in MXNet: class 0 is it")
    nms_threshold: float = number(0.5, doc="boxes that overlap by as much with a better one go; "
                                           "outside (0, 1]: none do")
    force_suppress: bool = boolean(False, doc="boxes of other classes count, too")
    variances: tuple[float, ...] = numbers((0.1, 0.1, 0.2, 0.2), length=4,
                                           doc="what predictions are multiplied by")
    nms_topk: int = integer(-1, doc="so many best boxes are looked at; 0 or less: all")


def infer_shape(p: MultiBoxDetectionParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    prob = fits(ins[0], (-1, -1, -1), "cls_prob") or (-1, -1, -1)
    loc = fits(ins[1], (-1, -1), "loc_pred") or (-1, -1)
    anchor = fits(ins[2], (1, -1, 4), "anchor") or (1, -1, 4)
    out = fits(outs[0], (-1, -1, 6), "the output") or (-1, -1, 6)
    count = merge_dim(merge_dim(prob[2], anchor[1], "numbers of anchors"), out[1],
                      "numbers of anchors")
    if loc[1] != -1:
        count = merge_dim(count, loc[1] // 4, "numbers of anchors")
    batch = merge_dim(merge_dim(prob[0], loc[0], "batches"), out[0], "batches")
    loc_ = fits((batch, loc[1]), (batch, -1 if count == -1 else count * 4), "loc_pred")
    return [merge(ins[0], (batch, prob[1], count)), loc_, (1, count, 4)], [
        (batch, count, 6)]


def _decode(p: MultiBoxDetectionParams, shifts: AnyArray, anchors: AnyArray) -> AnyArray:
    """(batch, anchors, 4): boxes by their corners."""
    variance = np.array(p.variances, np.float32).astype(shifts.dtype)
    size = anchors[:, 2:] - anchors[:, :2]
    center = shifts[..., :2] * variance[:2] * size + (anchors[:, :2] + anchors[:, 2:]) / 2
    half = np.exp(shifts[..., 2:] * variance[2:]) * size / 2
    made: AnyArray = np.concatenate([center - half, center + half], -1)
    return np.clip(made, 0, 1) if p.clip else made


def _settle(p: MultiBoxDetectionParams, rows: AnyArray) -> None:
    """Brings rows of (class, score, box) in order and marks those that go, in place."""
    order = by_score(rows[:, 1])
    most = p.nms_topk if 0 < p.nms_topk < len(rows) else len(rows)
    best = rows[order[:most]]
    # as in MXNet, boxes after the best ones lose only their class
    rows[most:, 0] = -1
    area = (best[:, 4] - best[:, 2]) * (best[:, 5] - best[:, 3])
    kept = keep_best(best[:, 2:], area, None if p.force_suppress else best[:, 0].copy(),
                     np.float32(p.nms_threshold), True)
    best[~kept, 0] = -1
    rows[:most] = best


def compute(ctx: OpContext, p: MultiBoxDetectionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    prob, loc, anchor = (wide(x) for x in ins)
    made = np.full(outs[0].shape, -1, prob.dtype)
    if made.size and prob.shape[1] > 1:
        # NaN is never the best
        scores = np.where(np.isnan(prob[:, 1:]), -np.inf, prob[:, 1:])
        best, kind = scores.max(1), scores.argmax(1)
        boxes = _decode(p, loc.reshape(*loc.shape[:1], -1, 4), anchor[0])
        found = (best > -1) & ~(best < np.float32(p.threshold))
        suppresses = 0 < np.float32(p.nms_threshold) <= 1
        for i, own in enumerate(found):
            rows = np.column_stack([kind[i, own].astype(prob.dtype), best[i, own], boxes[i, own]])
            if len(rows) and suppresses:
                _settle(p, rows)
            made[i, :len(rows)] = rows
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def refuses(p: MultiBoxDetectionParams, ins: list[NDArray]) -> str | None:
    return need_plain(*ins)


def compute_ex(ctx: OpContext, p: MultiBoxDetectionParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    stream = ctx.stream
    batch, classes, count = ins[0].shape
    prob, loc, anchor = (plain(ctx, x) for x in ins)
    scratch = stream.scratch(default_desc(UINT8, (batch * count * WORDS * 4,)))
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), stream) as y:
        ctx.kernel(multibox_detection(
            out=y, classes=prob, shifts=loc, anchors=anchor, scratch=scratch, batches=batch,
            kinds=classes, count=count, most=max(p.nms_topk, 0), clip=p.clip,
            force=p.force_suppress, threshold=p.threshold, overlap=p.nms_threshold,
            variances=p.variances))


register(OpDef("_contrib_MultiBoxDetection", MultiBoxDetectionParams,
               inputs=("cls_prob", "loc_pred", "anchor"), infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, compute_ex=compute_ex,
               refuses=refuses, gradient=zero_gradient,
               doc="Detections from class probabilities, shifts and anchors.\n\n"
                   "cls_prob (N, classes, A), of which class 0 is the background; loc_pred (N, 4 "
                   "A); anchor (1, A, 4); the output (N, A, 6): rows of class (without the "
                   "background, -1: none), probability, left, top, right, bottom; best first "
                   "when boxes are suppressed. The gradient is zero. One float dtype. Source: Liu "
                   "et al. 2016; MXNet's _contrib_MultiBoxDetection."))
