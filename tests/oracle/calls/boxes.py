"""Boxes: overlaps, suppression, matching, shifts from anchors, anchors, targets, detections."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..call import Array, Call, Given


def boxes(count: int, seed: int = 0, batch: int = 0) -> Any:
    """Rows of class, score, left, top, right, bottom; some scores are equal."""
    rng = np.random.RandomState(seed)
    shape = (batch, count) if batch else (count,)
    corner, size = rng.uniform(-0.1, 0.7, (*shape, 2)), rng.uniform(0.05, 0.5, (*shape, 2))
    kind, score = rng.randint(-1, 3, (*shape, 1)), rng.randint(-2, 9, (*shape, 1)) / 8
    return np.concatenate([kind, score, corner, corner + size], -1).round(4)


def anchors(count: int, seed: int = 5) -> Any:
    return boxes(count, seed)[None, :, 2:].clip(0, 1).tolist()


def centers(count: int, seed: int = 0) -> Any:
    made = boxes(count, seed)
    made[:, 4:] -= made[:, 2:4]
    return made.tolist()


LABELS = [
    [[1, 0.1, 0.1, 0.5, 0.5], [0, 0.4, 0.3, 0.9, 0.8], [-1, -1, -1, -1, -1]],
    [[-1, -1, -1, -1, -1], [-1, -1, -1, -1, -1], [-1, -1, -1, -1, -1]],
    [[2, 0.2, 0.2, 0.6, 0.7], [2, 0.2, 0.2, 0.6, 0.7], [0, 0.0, 0.6, 0.3, 1.0]],
]
NMS = boxes(24).tolist()
BATCH = boxes(12, 3, 2).tolist()

CALLS = [
    Call("contrib.box_iou", [boxes(4)[:, 2:].tolist(), boxes(5, 1)[:, 2:].tolist()], {}, (0, 1)),
    Call("contrib.box_iou", [boxes(6, 2, 2)[:, :, 2:].tolist(), boxes(5, 1)[:, 2:].tolist()],
         {"format": "center"}),
    Call("contrib.box_iou", [[[0.5, 0.5, 0.2, 0.2], [0, 0, 0, 0]], [[0, 0, 1, 1], [0, 0, 0, 0]]]),
    Call("contrib.box_iou", [Array((3, 4), dtype="float64"), Array((2, 4), dtype="float64")]),
    Call("contrib.box_nms", [NMS], {}, (0,)),
    *(Call("contrib.box_nms", [NMS], {"id_index": 0, "topk": topk, "overlap_thresh": 0.3}, (0,))
      for topk in (-1, 0, 1, 5, 99)),
    Call("contrib.box_nms", [NMS], {"id_index": 0, "background_id": 1, "valid_thresh": 0.3}),
    Call("contrib.box_nms", [NMS], {"id_index": 0, "force_suppress": True, "overlap_thresh": 0.1}),
    Call("contrib.box_nms", [NMS], {"out_format": "center", "overlap_thresh": 0.3}, (0,)),
    Call("contrib.box_nms", [centers(20)], {"in_format": "center", "overlap_thresh": 0.2}, (0,)),
    Call("contrib.box_nms", [centers(20)], {"in_format": "center", "out_format": "center"}),
    Call("contrib.box_nms", [NMS], {"valid_thresh": 9}, (0,)),
    Call("contrib.box_nms", [BATCH], {"id_index": 0, "overlap_thresh": 0.2}, (0,)),
    Call("contrib.box_nms", [np.roll(boxes(9), -1, 1).tolist()],
         {"coord_start": 1, "score_index": 0, "id_index": 5, "overlap_thresh": 0.2}),
    Call("contrib.box_nms", [Given(BATCH, "float64")], {"overlap_thresh": 0.2}, (0,),
         grad_req="add"),
    Call("contrib.box_nms", [Given(NMS, "float16")], {"overlap_thresh": 0.25}, (0,)),
    *(Call("contrib.bipartite_matching", [Array((2, 4, 3), 0)],
           {"threshold": 0.4, "is_ascend": ascend, "topk": topk}, (0,))
      for ascend in (False, True) for topk in (-1, 0, 1, 2)),
    Call("contrib.bipartite_matching", [[[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]]],
         {"threshold": 1e-12, "is_ascend": False}),
    Call("contrib.bipartite_matching", [[[0.5, 0.5], [0.5, 0.5]]], {"threshold": 0.1}),
    Call("contrib.box_encode",
         [[[1, 0, 0.6], [0.5, 1, -1]], [[0, 1, 1.9], [1, 0, 0]],
          [anchors(3)[0], anchors(3, 6)[0]], [anchors(2, 7)[0], anchors(2, 8)[0]],
          [0.1, 0, -0.1, 0], [0.1, 0.1, 0.2, 0.2]]),
    *(Call("contrib.box_decode", [Array((2, 5, 4)), anchors(5)],
           {"format": kind, "clip": clip, "std0": 0.1, "std2": 0.2, "std3": 3})
      for kind in ("corner", "center") for clip in (-1, 0.25)),
    Call("contrib.MultiBoxPrior", [Array((1, 3, 2, 3))], {}, (0,)),
    Call("contrib.MultiBoxPrior", [Array((2, 1, 3, 2))],
         {"sizes": (0.75, 0.5, 0.25), "ratios": (1, 2, 0.5)}),
    Call("contrib.MultiBoxPrior", [Array((1, 1, 2, 2))],
         {"sizes": (0.9, 0.3), "ratios": (3, 0.4), "clip": True, "steps": (0.3, 0.6),
          "offsets": (0.2, 0.9)}),
    Call("contrib.MultiBoxPrior", [Array((1, 1, 2, 2))], {"sizes": 0.3}),
    *(Call("contrib.MultiBoxTarget", [anchors(20), LABELS, Array((3, 4, 20))], params)
      for params in (
          {}, {"overlap_threshold": 0.2, "ignore_label": -7}, {"overlap_threshold": -1},
          {"negative_mining_ratio": 1.5, "negative_mining_thresh": 0.4},
          {"negative_mining_ratio": 3, "overlap_threshold": 0.3,
           "variances": (0.2, 0.3, 0.4, 0.5)})),
    *(Call("contrib.MultiBoxDetection",
           [Array((2, 3, 16), 0, 1), Array((2, 64)), anchors(16)], params, (0, 1, 2))
      for params in (
          {}, {"clip": False, "threshold": 0.6}, {"nms_threshold": 0.2, "force_suppress": True},
          {"nms_topk": 5, "nms_threshold": 0.3}, {"nms_threshold": -1},
          {"variances": (1, 1, 1, 1), "nms_threshold": 1})),
]
