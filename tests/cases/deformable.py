"""Deformable convolutions, in loops written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


def point(image: Array, y: float, x: float, edge: bool) -> Array:
    """A bilinear sample of an image (C, H, W)."""
    _, height, width = image.shape
    if edge:
        if not (0 <= y < height and 0 <= x < width):
            return np.zeros(len(image))
        y, x = min(y, height - 1), min(x, width - 1)
    made = np.zeros(len(image))
    for a in (math.floor(y), math.floor(y) + 1):
        for b in (math.floor(x), math.floor(x) + 1):
            if 0 <= a < height and 0 <= b < width:
                made += image[:, a, b] * max(0, 1 - abs(y - a)) * max(0, 1 - abs(x - b))
    return made


def deform(data: Array, offset: Array, weight: Array, bias: Any = 0.0, mask: Array | None = None,
           stride: int = 1, pad: int = 0, dilate: int = 1, groups: int = 1,
           parts: int = 1) -> Array:
    rows, columns = weight.shape[2:]
    size = offset.shape[2:]
    made = np.zeros((len(data), len(weight), *size))
    share, filters = weight.shape[1], len(weight) // groups
    for n, i, j in np.ndindex(len(data), *size):
        window = np.zeros((data.shape[1], rows, columns))
        for part, a, b in np.ndindex(parts, rows, columns):
            at = part * rows * columns + a * columns + b
            y = i * stride - pad + a * dilate + offset[n, 2 * at, i, j]
            x = j * stride - pad + b * dilate + offset[n, 2 * at + 1, i, j]
            own = slice(part * data.shape[1] // parts, (part + 1) * data.shape[1] // parts)
            window[own, a, b] = point(data[n, own], y, x, mask is None)
            if mask is not None:
                window[own, a, b] *= mask[n, at, i, j]
        for f in range(len(weight)):
            first = f // filters * share
            made[n, f, i, j] = (window[first:first + share] * weight[f]).sum()
    return made + np.reshape(bias, (-1, 1, 1))


FAR = {"low": -1.4, "high": 1.4}
LOOSE: dict[str, Any] = {"rtol": {"float16": 3e-2, "float32": 1e-4},
                         "atol": {"float16": 3e-2, "float32": 1e-4}, "onednn": False,
                         "dtypes": ("float32", "float64", "float16")}

CASES = [
    Case("_contrib_DeformableConvolution", {"kernel": (3, 3), "pad": (1, 1), "num_filter": 4},
         [(2, 2, 4, 5), Input((2, 18, 4, 5), **FAR), (4, 2, 3, 3), (4,)],
         reference=lambda d, o, w, b: deform(d, o, w, b, pad=1), **LOOSE),
    Case("_contrib_DeformableConvolution",
         {"kernel": (2, 2), "stride": (2, 2), "dilate": (2, 2), "num_filter": 4, "num_group": 2,
          "num_deformable_group": 2, "no_bias": True},
         [(1, 4, 5, 6), Input((1, 16, 2, 2), **FAR), (4, 2, 2, 2)],
         reference=lambda d, o, w: deform(d, o, w, stride=2, dilate=2, groups=2, parts=2),
         **LOOSE),
    Case("_contrib_ModulatedDeformableConvolution",
         {"kernel": (3, 3), "pad": (1, 1), "num_filter": 3, "num_deformable_group": 2},
         [(1, 4, 4, 4), Input((1, 36, 4, 4), **FAR), (1, 18, 4, 4), (3, 4, 3, 3), (3,)],
         reference=lambda d, o, m, w, b: deform(d, o, w, b, m, pad=1, parts=2), **LOOSE),
]
