"""RROIAlign, in loops written out."""

from __future__ import annotations

import math

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

from .roi import sample

ROIS = [[0, 3, 3, 4, 3, 0], [1, 4, 2, 5, 2.5, 30], [0, 1.5, 1, 6, 5, -45],
        [1, 3.5, 3.25, 0.25, 0.125, 90], [1, 0.75, 0.5, 9, 9, 400], [-1, 3, 3, 4, 3, 0],
        [2, 3, 3, 4, 3, 0], [0, 30, 30, 2, 2, 10]]


def turned(data: Array, rois: Array, bins: tuple[int, int], scale: float, ratio: int) -> Array:
    rows, columns = bins
    made = np.zeros((len(rois), data.shape[1], rows, columns))
    for i, (image, *numbers, angle) in enumerate(rois):
        if not 0 <= int(image) < len(data) or image < 0:
            continue
        x, y, width, height = (n * scale for n in numbers)
        width, height, turn = max(width, 1), max(height, 1), math.radians(angle)
        high = ratio if ratio > 0 else math.ceil(height / rows)
        wide = ratio if ratio > 0 else math.ceil(width / columns)
        for row, column in np.ndindex(rows, columns):
            for a, b in np.ndindex(high, wide):
                down = (row + (a + 0.5) / high) * height / rows - height / 2
                right = (column + (b + 0.5) / wide) * width / columns - width / 2
                made[i, :, row, column] += sample(
                    data[int(image)], y + down * math.cos(turn) - right * math.sin(turn),
                    x + right * math.cos(turn) + down * math.sin(turn)) / (high * wide)
    return made


def case(data: tuple[int, ...], bins: tuple[int, int], scale: float = 1.0,
         ratio: int = -1) -> Case:
    return Case("_contrib_RROIAlign",
                {"pooled_size": bins, "spatial_scale": scale, "sampling_ratio": ratio},
                [data, Input((len(ROIS), 6), values=ROIS)],
                reference=lambda d, r: turned(d, r, bins, scale, ratio), no_grad={1},
                dtypes=("float32", "float64", "float16"), native=False, native_backward=False)


CASES = [
    case((2, 3, 7, 8), (2, 3)),
    case((2, 2, 6, 5), (3, 2), 0.5, 2),
    case((2, 1, 1, 1), (1, 1)),
]
