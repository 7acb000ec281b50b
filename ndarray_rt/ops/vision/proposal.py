"""_contrib_Proposal, _contrib_MultiProposal: regions for the second part of a network."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import FLOAT32
from ...errors import ParameterError, ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_dim, merge_types
from ...op.params import Params, boolean, integer, number, numbers, params_class
from ...op.registry import OpDef, register
from .geometry import by_score
from .shared import fits, zero_gradient

_HALF = np.float32(0.5)


@params_class
class ProposalParams(Params):
    rpn_pre_nms_top_n: int = integer(6000, doc="so many best boxes are looked at; 0 or less: all")
    rpn_post_nms_top_n: int = integer(300, low=1, doc="regions of an image")
    threshold: float = number(0.7, doc="boxes that overlap by more with a better one go")
    rpn_min_size: int = integer(16, doc="the least width and height, in pixels of the image before "
                                        "it was scaled")
    scales: tuple[float, ...] = numbers((4.0, 8.0, 16.0, 32.0), doc="of anchors, times "
                                                                    "feature_stride")
    ratios: tuple[float, ...] = numbers((0.5, 1.0, 2.0), doc="heights for one width")
    feature_stride: int = integer(16, low=1, doc="pixels of the image for one of the map")
    output_score: bool = boolean(False, doc="the scores are an output")
    iou_loss: bool = boolean(False, doc="predictions are shifts of the corners")


def infer_shape(p: ProposalParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    count = len(p.scales) * len(p.ratios)
    prob = fits(ins[0], (-1, 2 * count, -1, -1), "cls_prob") or (-1, 2 * count, -1, -1)
    pred = fits(ins[1], (-1, 4 * count, -1, -1), "bbox_pred") or (-1, 4 * count, -1, -1)
    info = fits(ins[2], (-1, 3), "im_info") or (-1, 3)
    batch = merge_dim(merge_dim(prob[0], pred[0], "batches"), info[0], "batches")
    size = [merge_dim(a, b, "sizes of maps") for a, b in zip(prob[2:], pred[2:], strict=True)]
    if 0 in size:
        raise ShapeError(f"cls_prob has shape {prob}, expected a height and a width above 0")
    rows = -1 if batch == -1 else batch * p.rpn_post_nms_top_n
    out = merge(outs[0], (rows, 5), "output shapes")
    score = merge(outs[1], (rows, 1), "output shapes")
    return [(batch, 2 * count, *size), (batch, 4 * count, *size), (batch, 3)], [out, score]


def infer_shape_one(p: ProposalParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
    known, made = infer_shape(p, ins, outs)
    data = known[0]
    if data is not None and data[0] not in (-1, 1):
        raise ShapeError(f"cls_prob has shape {data}, expected one image: _contrib_MultiProposal "
                         "takes several")
    return known, made


def infer_type(p: ProposalParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    merge_types([*ins, *outs, FLOAT32])
    return [FLOAT32] * 3, [FLOAT32] * 2


def _base(p: ProposalParams) -> AnyArray:
    """The anchors of the first pixel: ratios, for each of them all scales."""
    stride = np.float32(p.feature_stride)
    made = []
    for ratio in np.array(p.ratios, np.float32):
        width = np.floor(np.sqrt(np.floor(stride * stride / ratio)) + _HALF)
        height = np.floor(width * ratio + _HALF)
        for scale in np.array(p.scales, np.float32):
            half = _HALF * (np.array([width, height]) * scale - 1)
            center = _HALF * (stride - 1)
            made.append([*(center - half), *(center + half)])
    return np.array(made, np.float32)


def all_anchors(p: ProposalParams, height: int, width: int) -> AnyArray:
    """(pixels * anchors, 4)."""
    y, x = np.indices((height, width), dtype=np.float32) * np.float32(p.feature_stride)
    shift = np.stack([x, y, x, y], -1)[:, :, None]
    made: AnyArray = (shift + _base(p)).reshape(-1, 4)
    return made


def _moved(p: ProposalParams, anchors: AnyArray, shifts: AnyArray, info: AnyArray) -> AnyArray:
    """Anchors with their shifts, inside of the image."""
    if p.iou_loss:
        made = anchors + shifts
    else:
        size = anchors[:, 2:] - anchors[:, :2] + 1
        center = anchors[:, :2] + _HALF * (size - 1)
        center = shifts[:, :2] * size + center
        half = _HALF * (np.exp(shifts[:, 2:]) * size - 1)
        made = np.concatenate([center - half, center + half], 1)
    limit = np.array([info[1], info[0], info[1], info[0]]) - 1
    inside: AnyArray = np.maximum(np.minimum(made, limit), 0)
    return inside


def _kept(p: ProposalParams, boxes: AnyArray, most: int) -> AnyArray:
    """Places of boxes, best first, that no better one overlaps with."""
    size = boxes[:, 2:] - boxes[:, :2] + 1
    area = size[:, 0] * size[:, 1]
    left = np.ones(len(boxes), bool)
    kept: list[int] = []
    at = 0
    while at < len(boxes) and len(kept) < most:
        kept.append(at)
        common = np.minimum(boxes[at, 2:], boxes[at + 1:, 2:]) - np.maximum(boxes[at, :2],
                                                                            boxes[at + 1:, :2])
        common = np.maximum(common + 1, 0)
        both = common[:, 0] * common[:, 1]
        left[at + 1:] &= ~(both / (area[at] + area[at + 1:] - both) > np.float32(p.threshold))
        rest = np.flatnonzero(left[at + 1:])
        at = at + 1 + int(rest[0]) if rest.size else len(boxes)
    return np.array(kept)


def compute(ctx: OpContext, p: ProposalParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    prob, pred, infos = ins
    if not np.isfinite(infos).all():
        raise ParameterError("im_info holds numbers that are not finite, expected height, width "
                             "and scale of each image")
    batch, _, height, width = prob.shape
    count = prob.shape[1] // 2
    anchors = all_anchors(p, height, width)
    most = len(anchors) if p.rpn_pre_nms_top_n <= 0 else min(p.rpn_pre_nms_top_n, len(anchors))
    regions = np.zeros((batch, p.rpn_post_nms_top_n, 5), np.float32)
    scores = np.zeros((batch, p.rpn_post_nms_top_n, 1), np.float32)
    for i in range(batch):
        info = infos[i]
        score = prob[i, count:].transpose(1, 2, 0).copy()
        shifts = pred[i].reshape(count, 4, height, width).transpose(2, 3, 0, 1).reshape(-1, 4)
        boxes = _moved(p, anchors, shifts, info)
        # places beyond the image are padding of the batch
        ends = np.clip(info[:2] / np.float32(p.feature_stride), 0, (height, width))
        rows, columns = map(int, ends)
        score[rows:], score[:, columns:] = -1, -1
        flat = score.reshape(-1)
        least = np.float32(p.rpn_min_size) * info[2]
        small = ((boxes[:, 2:] - boxes[:, :2] + 1) < least).any(1)
        boxes[small] += np.array([-1, -1, 1, 1], np.float32) * (least / 2)
        flat[small] = -1
        order = by_score(flat)[:most]
        kept = order[_kept(p, boxes[order], min(p.rpn_post_nms_top_n, most))]
        # if there are too few, they are repeated
        kept = np.resize(kept, p.rpn_post_nms_top_n)
        regions[i, :, 0], regions[i, :, 1:] = i, boxes[kept]
        scores[i, :, 0] = flat[kept]
    outs[0].write(regions.reshape(outs[0].shape))
    outs[1].write(scores.reshape(outs[1].shape))


for _name, _rule, _what in (("_contrib_Proposal", infer_shape_one, "one image"),
                            ("_contrib_MultiProposal", infer_shape, "several images")):
    register(OpDef(_name, ProposalParams, inputs=("cls_prob", "bbox_pred", "im_info"),
                   outputs=("output", "score"),
                   visible_outputs=lambda p: 2 if p.output_score else 1, infer_shape=_rule,
                   infer_type=infer_type, compute=compute, gradient=zero_gradient,
                   doc=f"Regions of {_what} that a network proposes for its second part.\n\n"
                       "cls_prob (N, 2 A, H, W), bbox_pred (N, 4 A, H, W), im_info (N, 3): "
                       "height, width and scale of the image. The output (N * "
                       "rpn_post_nms_top_n, 5): image, left, top, right, bottom, best first; too "
                       "few regions come again. score (N * rpn_post_nms_top_n, 1). float32; the "
                       "gradient is zero. Raises ParameterError where im_info is not finite. "
                       f"Source: Ren et al. 2015; MXNet's {_name}."))
