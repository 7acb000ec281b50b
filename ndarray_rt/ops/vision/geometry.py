"""Boxes as rows of four numbers: corners and centers, areas, overlaps. Registers no operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ...op.params import choice


def box_format(default: str, doc: str) -> Any:
    """A parameter: what the four numbers of a box are."""
    return choice("corner", "center", default=default,
                  doc=f"{doc}: corner (left, top, right, bottom) or center (x, y, width, height)")


def corners(boxes: AnyArray, centered: bool) -> AnyArray:
    """Boxes as left, top, right, bottom."""
    if not centered:
        return boxes
    half = boxes[..., 2:] / 2
    made: AnyArray = np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], -1)
    return made


def areas(boxes: AnyArray, centered: bool) -> AnyArray:
    """Width times height, 0 where one of them is below 0."""
    size = boxes[..., 2:] if centered else boxes[..., 2:] - boxes[..., :2]
    made: AnyArray = np.where((size < 0).any(-1), 0, size[..., 0] * size[..., 1])
    return made.astype(boxes.dtype, copy=False)


def intersections(a: AnyArray, b: AnyArray) -> AnyArray:
    """What boxes by their corners have in common: areas."""
    size = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    size = np.maximum(size, 0)
    made: AnyArray = size[..., 0] * size[..., 1]
    return made


def overlaps(a: AnyArray, b: AnyArray) -> AnyArray:
    """Common part over the whole of boxes by their corners, 0 where there is nothing."""
    both = intersections(a, b)
    own = [(x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1]) for x in (a, b)]
    either = own[0] + own[1] - both
    made: AnyArray = np.where(either == 0, 0, both / either)
    return made.astype(both.dtype, copy=False)


def by_score(scores: AnyArray) -> AnyArray:
    """Places of scores, larger ones first, equal ones in their order."""
    made: AnyArray = np.argsort(-scores, kind="stable")
    return made


def keep_best(boxes: AnyArray, area: AnyArray, kinds: AnyArray | None, threshold: float,
              equal: bool) -> AnyArray:
    """Which of the boxes, best first, stay: no better one of their kind overlaps with them.

    By more than the threshold, or with `equal` by as much.
    """
    kept = np.ones(len(boxes), bool)
    for i in range(len(boxes)):
        if not kept[i]:
            continue
        both = intersections(boxes[i], boxes[i + 1:])
        either = area[i] + area[i + 1:] - both
        share = both / either
        if equal:
            share = np.where(either <= 0, 0, share)
        over = share >= threshold if equal else share > threshold
        if kinds is not None:
            over &= kinds[i + 1:] == kinds[i]
        kept[i + 1:] &= ~over
    return kept
