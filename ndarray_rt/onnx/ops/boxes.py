"""Detection: NonMaxSuppression and regions of interest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import operator
from ..values import Value, need_bytes


def _number(value: Array | None, default: float) -> float:
    return default if value is None or not value.size else float(value.reshape(-1)[0])


def _corners(boxes: Array, centered: bool) -> Array:
    """(x1, y1, x2, y2) with the first ones smaller."""
    if centered:
        x, y, w, h = (boxes[:, i] for i in range(4))
        return np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1)
    first, second = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    return np.concatenate([first, second], 1)


@operator("NonMaxSuppression", data_dependent=True)
def non_max_suppression(node: Node, boxes: Array, scores: Array, most: Array | None = None,
                        overlap: Array | None = None, least: Array | None = None) -> Array:
    count, limit = int(_number(most, 0)), _number(overlap, 0.0)
    threshold = _number(least, -np.inf)
    found: list[tuple[int, int, int]] = []
    for batch in range(scores.shape[0]):
        corners = _corners(boxes[batch], bool(node.attr("center_point_box", 0)))
        areas = np.prod(corners[:, 2:] - corners[:, :2], 1)
        for kind in range(scores.shape[1]):
            row = scores[batch, kind]
            order = [i for i in np.argsort(-row, kind="stable") if row[i] > threshold]
            kept: list[int] = []
            for i in order:
                if len(kept) >= count:
                    break
                if not kept or _overlaps(corners, areas, i, kept).max() <= limit:
                    kept.append(i)
            found += [(batch, kind, i) for i in kept]
    return np.array(found, np.int64).reshape(-1, 3)


def _overlaps(corners: Array, areas: Array, i: int, others: list[int]) -> Array:
    """Intersection over union of a box with others."""
    first = np.maximum(corners[i, :2], corners[others, :2])
    last = np.minimum(corners[i, 2:], corners[others, 2:])
    both = np.prod(np.maximum(last - first, 0), 1)
    union = areas[i] + areas[others] - both
    return np.where(union > 0, both / np.where(union > 0, union, 1), 0)


@operator("RoiAlign")
def roi_align(node: Node, x: Array, rois: Array, batches: Array) -> Array:
    height, width = int(node.attr("output_height", 1)), int(node.attr("output_width", 1))
    ratio, scale = int(node.attr("sampling_ratio", 0)), float(node.attr("spatial_scale", 1.0))
    halved = node.attr("coordinate_transformation_mode",
                       "half_pixel" if node.opset >= 16 else "output_half_pixel") == "half_pixel"
    made = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    for k, (roi, batch) in enumerate(zip(rois, batches, strict=True)):
        x1, y1, x2, y2 = (float(v) * scale - (0.5 if halved else 0.0) for v in roi)
        w, h = x2 - x1, y2 - y1
        if not halved:
            w, h = max(w, 1.0), max(h, 1.0)
        if not np.isfinite([w, h]).all():
            raise ValueError(f"a region {roi.tolist()}")
        rows = ratio or int(np.ceil(h / height))
        columns = ratio or int(np.ceil(w / width))
        if rows < 1 or columns < 1:
            continue  # a region without extent has no samples
        need_bytes([4, x.shape[1], height * rows, width * columns], np.dtype(np.float64))
        ys = y1 + (np.arange(height * rows) + 0.5) * (h / height / max(rows, 1))
        xs = x1 + (np.arange(width * columns) + 0.5) * (w / width / max(columns, 1))
        taps = _taps(x[int(batch)], ys, xs)
        parts = taps.reshape(4, -1, height, rows, width, columns)
        if node.attr("mode", "avg") == "avg":
            made[k] = parts.sum(0).mean((2, 4))
        else:
            made[k] = parts.max((0, 3, 5))
    return made


@roi_align.sized
def roi_align_size(node: Node, x: Array, rois: Array, batches: Array) -> tuple[list[int], Any]:
    return [len(rois), x.shape[1], int(node.attr("output_height", 1)),
            int(node.attr("output_width", 1))], x.dtype


def _taps(image: Array, ys: Array, xs: Array) -> Array:
    """(4, C, ys, xs): the four neighbours of each place, each times its weight."""
    (y0, y1, fy, oky), (x0, x1, fx, okx) = (_neighbours(v, d) for v, d in zip(
        (ys, xs), image.shape[1:], strict=True))
    inside = oky[:, None] & okx[None, :]
    made = []
    for yi, wy in ((y0, 1 - fy), (y1, fy)):
        for xi, wx in ((x0, 1 - fx), (x1, fx)):
            weight = np.where(inside, wy[:, None] * wx[None, :], 0)
            made.append(image[:, yi[:, None], xi[None, :]] * weight)
    return np.stack(made)


def _neighbours(v: Array, length: int) -> tuple[Array, Array, Array, Array]:
    inside = (v >= -1) & (v <= length)
    v = np.clip(v, 0, None)
    first = np.minimum(np.floor(v).astype(int), length - 1)
    v = np.where(first >= length - 1, length - 1, v)
    second = np.minimum(first + 1, length - 1)
    return first, second, v - first, inside


@operator("MaxRoiPool")
def max_roi_pool(node: Node, x: Array, rois: Array) -> Array:
    height, width = (int(v) for v in node.attr("pooled_shape"))
    scale = float(node.attr("spatial_scale", 1.0))
    made = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    for k, roi in enumerate(rois):
        image = x[int(roi[0])]
        x1, y1, x2, y2 = (int(np.floor(float(v) * scale + 0.5)) for v in roi[1:])
        h, w = max(y2 - y1 + 1, 1) / height, max(x2 - x1 + 1, 1) / width
        for i in range(height):
            for j in range(width):
                top, bottom = (min(max(int(v) + y1, 0), image.shape[1]) for v in (
                    np.floor(i * h), np.ceil((i + 1) * h)))
                left, right = (min(max(int(v) + x1, 0), image.shape[2]) for v in (
                    np.floor(j * w), np.ceil((j + 1) * w)))
                part = image[:, top:bottom, left:right]
                made[k, :, i, j] = part.max((1, 2)) if part.size else 0
    return made


@max_roi_pool.sized
def max_roi_pool_size(node: Node, x: Array, rois: Array) -> tuple[list[int], Any]:
    return [len(rois), x.shape[1], *map(int, node.attr("pooled_shape"))], x.dtype


@max_roi_pool.symbol
def max_roi_pool_symbol(b: GraphBuilder, node: Node, x: Value, rois: Value) -> Value | None:
    if not x.is_float or not rois.size:
        return None
    return b.op("ROIPooling", x, rois, pooled_size=tuple(node.attr("pooled_shape")),
                spatial_scale=float(node.attr("spatial_scale", 1.0)))
