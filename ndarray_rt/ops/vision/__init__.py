"""Operators on regions of images: pooling of regions, boxes, anchors, samplers."""

from . import (
    bipartite_matching,
    box_codes,
    box_iou,
    box_nms,
    multibox_detection,
    multibox_prior,
    multibox_target,
    roi_align,
    roi_pooling,
)

__all__ = [
    "bipartite_matching",
    "box_codes",
    "box_iou",
    "box_nms",
    "multibox_detection",
    "multibox_prior",
    "multibox_target",
    "roi_align",
    "roi_pooling",
]
