"""Operators on regions of images: pooling of regions, boxes, anchors, samplers."""

from . import (
    bipartite_matching,
    box_codes,
    box_iou,
    box_nms,
    correlation,
    deformable_convolution,
    deformable_psroi_pooling,
    multibox_detection,
    multibox_prior,
    multibox_target,
    proposal,
    psroi_pooling,
    roi_align,
    roi_pooling,
    rroi_align,
    spatial_transformer,
)

__all__ = [
    "bipartite_matching",
    "box_codes",
    "box_iou",
    "box_nms",
    "correlation",
    "deformable_convolution",
    "deformable_psroi_pooling",
    "multibox_detection",
    "multibox_prior",
    "multibox_target",
    "proposal",
    "psroi_pooling",
    "roi_align",
    "roi_pooling",
    "rroi_align",
    "spatial_transformer",
]
