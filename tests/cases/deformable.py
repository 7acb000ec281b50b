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


FAR: dict[str, Any] = {"low": -1.4, "high": 1.4}
LOOSE: dict[str, Any] = {"rtol": {"float16": 3e-2, "float32": 1e-4},
                         "atol": {"float16": 3e-2, "float32": 1e-4}, "native": False,
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


# ---- DeformablePSROIPooling ---------------------------------------------------------------------


def psroi(data: Array, rois: Array, trans: Array | None, dim: int, groups: int, bins: int,
          parts: int, samples: int, scale: float, std: float) -> Array:
    made = np.zeros((len(rois), dim, bins, bins))
    classes = 1 if trans is None else trans.shape[1] // 2
    for n, c, i, j in np.ndindex(made.shape):
        if not 0 <= int(rois[n, 0]) < len(data):
            continue
        x0, y0, x1, y1 = (math.floor(abs(v) + 0.5) * math.copysign(1, v) for v in rois[n, 1:])
        left, top = x0 * scale - 0.5, y0 * scale - 0.5
        width = max((x1 + 1) * scale - 0.5 - left, 0.1)
        height = max((y1 + 1) * scale - 0.5 - top, 0.1)
        x, y = left + j * width / bins, top + i * height / bins
        if trans is not None:
            at = n, 2 * (c // (dim // classes)), i * parts // bins, j * parts // bins
            x += trans[at] * std * width
            y += trans[n, at[1] + 1, at[2], at[3]] * std * height
        image = data[int(rois[n, 0]), (c * groups + i * groups // bins) * groups
                     + j * groups // bins][None]
        found = []
        for a, b in np.ndindex(samples, samples):
            row, column = y + a * height / bins / samples, x + b * width / bins / samples
            if -0.5 <= row <= data.shape[2] - 0.5 and -0.5 <= column <= data.shape[3] - 0.5:
                row = min(max(row, 0), data.shape[2] - 1)
                column = min(max(column, 0), data.shape[3] - 1)
                found.append(point(image, row, column, False)[0])
        made[n, c, i, j] = np.mean(found) if found else 0
    return made


BOXES = [[0, 1, 1, 6, 5], [1, 0.6, 2.2, 7.3, 6], [0, -3, -2, 2, 3], [0, 5, 5, 2, 2],
         [-1, 1, 1, 3, 3], [1, 20, 20, 30, 30]]


def psroi_case(dim: int, groups: int, bins: int, classes: int = 0, parts: int = 0,
               samples: int = 1, scale: float = 1.0, std: float = 0.0) -> Case:
    params = {"spatial_scale": scale, "output_dim": dim, "group_size": groups,
              "pooled_size": bins, "part_size": parts, "sample_per_part": samples,
              "trans_std": std, "no_trans": not classes}
    part = parts or bins
    inputs: list[Any] = [(2, dim * groups**2, 7, 8), Input((len(BOXES), 5), values=BOXES)]
    if classes:
        inputs.append(Input((len(BOXES), 2 * classes, part, part)))
    return Case("_contrib_DeformablePSROIPooling", params, inputs,
                reference=lambda d, r, *t: psroi(d, r, t[0] if t else None, dim, groups, bins,
                                                 part, samples, scale, std),
                no_grad={1}, native=False, native_backward=False, dtypes=("float32", "float64"))


CASES += [psroi_case(2, 2, 3), psroi_case(4, 2, 2, classes=2, samples=2, std=0.1),
          psroi_case(2, 1, 3, classes=1, parts=2, samples=3, scale=0.5, std=0.3),
          psroi_case(3, 3, 3, classes=3, scale=0.7, std=0.2)]
