"""ROIAlign and ROIPooling, in loops written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

FLOATS = ("float32", "float64", "float16")


def sample(image: Array, y: float, x: float) -> Array:
    """A bilinear sample of an image (C, H, W)."""
    _, height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    upper = image[:, y0, x0] * (x0 + 1 - x) + image[:, y0, x1] * (x - x0)
    lower = image[:, y1, x0] * (x0 + 1 - x) + image[:, y1, x1] * (x - x0)
    return upper * (y0 + 1 - y) + lower * (y - y0)


def align(data: Array, rois: Array, bins: tuple[int, int], scale: float, ratio: int = -1,
          split: bool = False, aligned: bool = False) -> Array:
    rows, columns = bins
    channels = data.shape[1] // (rows * columns if split else 1)
    made = np.zeros((len(rois), channels, rows, columns))
    for i, (image, *corners) in enumerate(rois):
        if not 0 <= int(image) < len(data):
            continue
        x0, y0, x1, y1 = (c * scale - 0.5 * aligned for c in corners)
        height, width = (y1 - y0, x1 - x0) if aligned else (max(y1 - y0, 1), max(x1 - x0, 1))
        high = ratio if ratio > 0 else math.ceil(height / rows)
        wide = ratio if ratio > 0 else math.ceil(width / columns)
        for y, x in np.ndindex(rows, columns):
            seen = [sample(data[int(image)], y0 + (y + (a + 0.5) / high) * height / rows,
                           x0 + (x + (b + 0.5) / wide) * width / columns)
                    for a in range(high) for b in range(wide)]
            mean = sum(seen, np.zeros(())) / (high * wide)
            made[i, :, y, x] = mean.reshape(channels, rows, columns)[:, y, x] if split else mean
    return made


def pool(data: Array, rois: Array, bins: tuple[int, int], scale: float) -> Array:
    rows, columns = bins
    made = np.zeros((len(rois), data.shape[1], rows, columns))
    for i, (image, *corners) in enumerate(rois):
        if not 0 <= int(image) < len(data):
            continue
        x0, y0, x1, y1 = (math.floor(abs(c * scale) + 0.5) * (1 if c > 0 else -1)
                          for c in corners)
        high, wide = max(y1 - y0 + 1, 1) / rows, max(x1 - x0 + 1, 1) / columns
        for y, x in np.ndindex(rows, columns):
            top, bottom = math.floor(y * high) + y0, math.ceil((y + 1) * high) + y0
            left, right = math.floor(x * wide) + x0, math.ceil((x + 1) * wide) + x0
            part = data[int(image), :, max(top, 0):max(bottom, 0), max(left, 0):max(right, 0)]
            if part.size:
                made[i, :, y, x] = part.reshape(len(part), -1).max(1)
    return made


ROIS: list[list[float]] = [
    [0, 1, 1, 5, 4], [1, 0.5, 2.25, 7.5, 6], [1, -3, -2, 2, 3], [0, 4, 4, 2, 2],
    [-1, 1, 1, 3, 3], [0, 5, 3, 20, 12], [2, 0, 0, 4, 4]]


def regions(values: Any = ROIS) -> Input:
    return Input((len(values), 5), values=values)


def align_case(data: tuple[int, ...], bins: tuple[int, int], scale: float = 1.0, ratio: int = -1,
               split: bool = False, aligned: bool = False, values: Any = ROIS,
               native: bool = True, note: str = "") -> Case:
    return Case("_contrib_ROIAlign",
                {"pooled_size": bins, "spatial_scale": scale, "sample_ratio": ratio,
                 "position_sensitive": split, "aligned": aligned}, [data, regions(values)],
                reference=lambda d, r: align(d, r, bins, scale, ratio, split, aligned),
                no_grad={1}, dtypes=FLOATS, native=native, native_backward=native, note=note,
                rtol={"float16": 1e-2}, atol={"float16": 1e-2})


def pool_case(data: Any, bins: tuple[int, int], scale: float = 1.0, values: Any = ROIS) -> Case:
    return Case("ROIPooling", {"pooled_size": bins, "spatial_scale": scale},
                [Input(data, kind="distinct"), regions(values)],
                reference=lambda d, r: pool(d, r, bins, scale), no_grad={1}, dtypes=FLOATS,
                native=True, native_backward=True)


CASES = [
    align_case((2, 3, 7, 8), (2, 3)),
    align_case((2, 20, 7, 8), (3, 2), 0.5, 2),
    align_case((2, 12, 6, 5), (2, 3), split=True),
    align_case((2, 3, 7, 8), (2, 2), aligned=True, native=False,
               values=[roi for roi in ROIS if roi[3] > roi[1]]),
    align_case((2, 1, 1, 1), (2, 2), note="one pixel"),
    align_case((2, 3, 4, 4), (1, 1), 8.0, note="many samples"),
    pool_case((2, 3, 7, 8), (2, 3)),
    pool_case((2, 20, 7, 8), (3, 2), 0.5),
    pool_case((2, 2, 3, 3), (5, 5)),
    pool_case((2, 3, 4, 5), (1, 1), 0.25),
]
