"""_contrib_MultiBoxTarget: what a network with anchors is to learn from labelled boxes."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT32, UINT8
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_dim
from ...op.params import Params, integer, number, numbers, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels import vision as kernels
from ..floats import same_float_type, wide
from .geometry import by_score, overlaps
from .shared import fits, need_plain, plain, zero_gradient

IGNORED, NEGATIVE = -1, -2  # in place of the label that an anchor matches


@params_class
class MultiBoxTargetParams(Params):
    overlap_threshold: float = number(0.5, doc="anchors that overlap by more with a label match "
                                               "it; 0 or less: only the best of each label")
    ignore_label: float = number(-1.0, doc="class of anchors that do not count")
    negative_mining_ratio: float = number(-1.0, doc="negative anchors for one that matches, the "
                                                    "hardest; 0 or less: all that do not match")
    negative_mining_thresh: float = number(0.5, doc="negative anchors overlap by less")
    minimum_negative_samples: int = integer(0, doc="accepted and ignored, as in MXNet")
    variances: tuple[float, ...] = numbers((0.1, 0.1, 0.2, 0.2), length=4,
                                           doc="what the targets are divided by")


def infer_shape(p: MultiBoxTargetParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    anchor = fits(ins[0], (1, -1, 4), "anchor") or (1, -1, 4)
    label = fits(ins[1], (-1, -1, -1), "label")
    pred = fits(ins[2], (-1, -1, -1), "cls_pred") or (-1, -1, -1)
    if label is not None and (label[1] == 0 or 0 <= label[2] < 5):
        raise ShapeError(f"label has shape {label}, expected (N, labels, 5 or more) with one or "
                         "more labels")
    if pred[1] == 0:
        raise ShapeError(f"cls_pred has shape {pred}, expected one or more classes")
    target = merge(fits(outs[0], (-1, -1), "loc_target"), outs[1], "loc_target and loc_mask")
    kind = fits(outs[2], (-1, -1), "cls_target") or (-1, -1)
    count = merge_dim(merge_dim(anchor[1], pred[2], "numbers of anchors"), kind[1],
                      "numbers of anchors")
    batch = merge_dim(kind[0], -1 if label is None else label[0], "batches")
    if target is not None:
        batch = merge_dim(batch, target[0], "batches")
        if target[1] != -1:
            count = merge_dim(count, target[1] // 4, "numbers of anchors")
    batch = merge_dim(batch, pred[0], "batches")
    target = (batch, -1 if count == -1 else 4 * count)
    known = [(1, count, 4),
             None if label is None else (batch, *label[1:]),
             merge(ins[2], (batch, pred[1], count))]
    return known, [merge(outs[0], target), merge(outs[1], target), (batch, count)]


def _match_labels(shares: AnyArray) -> AnyArray:
    """The label of each anchor, or IGNORED: each label takes an anchor, the nearest pair first."""
    match = np.full(len(shares), IGNORED, np.int64)
    left = shares.copy()
    for _ in range(shares.shape[1]):
        at, label = np.unravel_index(left.argmax(), left.shape)
        if not left[at, label] > np.float32(1e-6):
            break
        match[at] = label
        left[at], left[:, label] = -1, -1
    return match


def _background(pred: AnyArray) -> AnyArray:
    """The probability of class 0, by the softmax over the first axis."""
    e = np.exp(pred - pred.max(0))
    made: AnyArray = e[0] / e.sum(0)
    return made


def _match(p: MultiBoxTargetParams, anchors: AnyArray, labels: AnyArray,
           pred: AnyArray) -> AnyArray:
    """The label of each anchor, IGNORED or NEGATIVE."""
    ends = np.flatnonzero(labels[:, 0] == -1)
    labels = labels[:ends[0]] if ends.size else labels
    if not len(labels):
        return np.full(len(anchors), IGNORED)
    shares = overlaps(anchors[:, None], labels[:, 1:5]).astype(np.float32)
    shares = np.where(np.isnan(shares), -2, shares)
    match = _match_labels(shares)
    best, label = shares.max(1), shares.argmax(1)
    threshold, ratio = np.float32(p.overlap_threshold), np.float32(p.negative_mining_ratio)
    if threshold > 0:
        near = (match == IGNORED) & (best > threshold)
        match[near] = label[near]
    if not ratio > 0:
        match[match == IGNORED] = NEGATIVE
        return match
    positive = int((match >= 0).sum())
    wanted = np.float32(positive) * ratio
    count = int(min(wanted, len(match) - positive))
    hard = np.flatnonzero((match == IGNORED) & (best < np.float32(p.negative_mining_thresh)))
    order = by_score(-_background(pred[:, hard]).astype(np.float32)) if hard.size else hard
    match[hard[order[:count]]] = NEGATIVE
    return match


def _targets(anchors: AnyArray, boxes: AnyArray) -> AnyArray:
    size, near = anchors[:, 2:] - anchors[:, :2], boxes[:, 2:] - boxes[:, :2]
    half = np.float32(0.5)
    shift = (boxes[:, :2] + boxes[:, 2:]) * half - (anchors[:, :2] + anchors[:, 2:]) * half
    made: AnyArray = np.concatenate([shift / size, np.log(near / size)], 1)
    return made


def compute(ctx: OpContext, p: MultiBoxTargetParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    anchors, labels, pred = (wide(x) for x in ins)
    batch, count = outs[2].shape
    target = np.zeros((batch, count, 4), pred.dtype)
    mask = np.zeros((batch, count, 4), pred.dtype)
    kind = np.full((batch, count), p.ignore_label, pred.dtype)
    variances = np.array(p.variances, np.float32)
    for i in range(batch if count else 0):
        match = _match(p, anchors[0], labels[i], pred[i])
        kind[i, match == NEGATIVE] = 0
        own = match >= 0
        found = labels[i, match[own]]
        kind[i, own] = found[:, 0] + 1
        mask[i, own] = 1
        target[i, own] = _targets(anchors[0, own], found[:, 1:5]) / variances
    dtype = ins[0].dtype
    for out, made in zip(outs, (target, mask, kind), strict=True):
        out.write(made.reshape(out.shape).astype(dtype, copy=False))


def refuses(p: MultiBoxTargetParams, ins: list[NDArray]) -> str | None:
    return need_plain(*ins)


def compute_ex(ctx: OpContext, p: MultiBoxTargetParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    stream = ctx.stream
    anchors, labels, pred = (plain(ctx, x) for x in ins)
    (batch, most, width), (_, classes, count) = ins[1].shape, ins[2].shape
    match = stream.scratch(default_desc(INT32, (batch, count)))
    scratch = stream.scratch(default_desc(UINT8, (batch * (count + most) * 8,)))
    ctx.kernel(kernels.multibox_match(
        match=match, scratch=scratch, anchors=anchors, labels=labels, classes=pred, batches=batch,
        count=count, most=most, width=width, kinds=classes, threshold=p.overlap_threshold,
        ratio=p.negative_mining_ratio, limit=p.negative_mining_thresh))
    flat = default_desc(FLOAT32, outs[0].shape)
    with (outs[0].open(flat, stream) as target, outs[1].open(flat, stream) as mask,
          outs[2].open(default_desc(FLOAT32, outs[2].shape), stream) as kind):
        ctx.kernel(kernels.multibox_assign(
            target=target, mask=mask, kind=kind, anchors=anchors, labels=labels, match=match,
            batches=batch, count=count, most=most, width=width, ignored=p.ignore_label,
            variances=p.variances))


register(OpDef("_contrib_MultiBoxTarget", MultiBoxTargetParams,
               inputs=("anchor", "label", "cls_pred"),
               outputs=("loc_target", "loc_mask", "cls_target"), infer_shape=infer_shape,
               infer_type=same_float_type, compute=compute, compute_ex=compute_ex,
               refuses=refuses, gradient=zero_gradient,
               doc="Targets of training for anchors, from labelled boxes.\n\n"
                   "anchor (1, A, 4); label (N, labels, 5 or more): class, left, top, right, "
                   "bottom, and rows behind one of class -1 do not count; cls_pred (N, classes, "
                   "A), for negative mining. Outputs: shifts (N, 4 A), their mask (N, 4 A), "
                   "classes (N, A): 0 for the background. Each label takes the nearest free "
                   "anchor; then anchors that overlap enough match. The gradient is zero. One "
                   "float dtype. Source: Liu et al. 2016; MXNet's _contrib_MultiBoxTarget."))
