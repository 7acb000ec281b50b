"""GridGenerator, BilinearSampler, SpatialTransformer, Correlation, PSROIPooling, proposals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

FLOATS = ("float32", "float64", "float16")
LOOSE: dict[str, Any] = {"rtol": {"float16": 3e-2, "float32": 1e-4},
                         "atol": {"float16": 3e-2, "float32": 1e-4}}


def affine(data: Array, height: int, width: int) -> Array:
    made = np.empty((len(data), 2, height, width))
    for n, i, j in np.ndindex(len(data), height, width):
        place = np.array([-1 + 2 * j / (width - 1), -1 + 2 * i / (height - 1), 1])
        made[n, :, i, j] = data[n].reshape(2, 3) @ place
    return made


def warp(data: Array) -> Array:
    made = np.empty(data.shape)
    height, width = data.shape[2:]
    for n, i, j in np.ndindex(len(data), height, width):
        made[n, :, i, j] = ((data[n, 0, i, j] + j) * 2 / (width - 1) - 1,
                            (data[n, 1, i, j] + i) * 2 / (height - 1) - 1)
    return made


def sampled(data: Array, grid: Array) -> Array:
    height, width = data.shape[2:]
    made = np.zeros((*data.shape[:2], *grid.shape[2:]))
    for n, i, j in np.ndindex(len(data), *grid.shape[2:]):
        x, y = (grid[n, 0, i, j] + 1) * (width - 1) / 2, (grid[n, 1, i, j] + 1) * (height - 1) / 2
        for a in (math.floor(y), math.floor(y) + 1):
            for b in (math.floor(x), math.floor(x) + 1):
                if 0 <= a < height and 0 <= b < width:
                    made[n, :, i, j] += data[n, :, a, b] * (1 - abs(y - a)) * (1 - abs(x - b))
    return made


def correlate(a: Array, b: Array, kernel: int = 1, most: int = 1, stride1: int = 1,
              stride2: int = 1, pad: int = 0, multiply: bool = True) -> Array:
    a, b = (np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad))) for x in (a, b))
    reach, border = most // stride2, most + (kernel - 1) // 2
    rows, columns = (math.ceil((n - 2 * border) / stride1) for n in a.shape[2:])
    made = np.zeros((len(a), (2 * reach + 1)**2, rows, columns))
    for at, i, j in np.ndindex(*made.shape[1:]):
        down, right = ((k - reach) * stride2 for k in divmod(at, 2 * reach + 1))
        y, x = i * stride1 + most, j * stride1 + most
        one = a[:, :, y:y + kernel, x:x + kernel]
        other = b[:, :, y + down:y + down + kernel, x + right:x + right + kernel]
        part = one * other if multiply else abs(one - other)
        made[:, at, i, j] = part.mean((1, 2, 3))
    return made


def pooled(data: Array, rois: Array, scale: float, dims: int, bins: int, groups: int) -> Array:
    made = np.zeros((len(rois), dims, bins, bins))
    for i, (image, *corner) in enumerate(rois):
        if not 0 <= image < len(data):
            continue
        x0, y0, x1, y1 = (math.floor(c + 0.5) for c in corner)
        left, top = x0 * scale, y0 * scale
        width, height = max((x1 + 1) * scale - left, 0.1), max((y1 + 1) * scale - top, 0.1)
        for c, y, x in np.ndindex(dims, bins, bins):
            rows = [h for h in range(data.shape[2]) if math.floor(y * height / bins + top) <= h
                    < math.ceil((y + 1) * height / bins + top)]
            columns = [w for w in range(data.shape[3]) if math.floor(x * width / bins + left) <= w
                       < math.ceil((x + 1) * width / bins + left)]
            channel = (c * groups + y * groups // bins) * groups + x * groups // bins
            if rows and columns:
                made[i, c, y, x] = data[int(image), channel][np.ix_(rows, columns)].mean()
    return made


def propose(prob: Array, pred: Array, info: Array, count: int, least: float, overlap: float,
            stride: int = 16) -> tuple[Array, Array]:
    """With scales=1, 2 and ratios=1."""
    sizes = (stride, 2 * stride)
    regions, scores = np.zeros((len(prob) * count, 5)), np.zeros((len(prob) * count, 1))
    for n in range(len(prob)):
        found = []
        for y, x, a in np.ndindex(*prob.shape[2:], len(sizes)):
            dx, dy, dw, dh = pred[n, 4 * a:4 * a + 4, y, x]
            size = sizes[a]
            cx, cy = ((stride - 1) / 2 + k * stride + d * size for k, d in ((x, dx), (y, dy)))
            w, h = (np.exp(dw) * size - 1) / 2, (np.exp(dh) * size - 1) / 2
            score = prob[n, len(sizes) + a, y, x]
            if y >= int(info[n, 0] / stride) or x >= int(info[n, 1] / stride):
                score = -1
            box = np.clip([cx - w, cy - h, cx + w, cy + h], 0, info[n, [1, 0, 1, 0]] - 1)
            small = least * info[n, 2]
            if min(box[2] - box[0], box[3] - box[1]) + 1 < small:
                box, score = box + np.array([-1, -1, 1, 1]) * small / 2, -1
            found.append((score, box))
        found.sort(key=lambda pair: -pair[0])
        kept: list[Any] = []
        for score, box in found:
            if len(kept) < count and not any(shared(box, other) > overlap for _, other in kept):
                kept.append((score, box))
        for i in range(count):
            score, box = kept[i % len(kept)]
            regions[n * count + i], scores[n * count + i] = [n, *box], score
    return regions, scores


def shared(a: Any, b: Any) -> float:
    both = (max(0, min(a[2], b[2]) - max(a[0], b[0]) + 1)
            * max(0, min(a[3], b[3]) - max(a[1], b[1]) + 1))
    area = [(k[2] - k[0] + 1) * (k[3] - k[1] + 1) for k in (a, b)]
    return both / (sum(area) - both)


def correlation(params: dict[str, Any], **words: Any) -> Case:
    return Case("Correlation", params, [Input((2, 3, 7, 8), kind="distinct"), (2, 3, 7, 8)],
                reference=lambda a, b: correlate(a, b, **words), dtypes=FLOATS, native=False,
                **LOOSE)


def proposals(op: str, images: int, info: list[Any]) -> Case:
    return Case(op, {"scales": (1, 2), "ratios": 1, "rpn_post_nms_top_n": 12, "rpn_min_size": 8,
                     "output_score": True, "threshold": 0.4},
                [Input((images, 4, 5, 6), kind="distinct", low=0), (images, 8, 5, 6),
                 Input((images, 3), values=info)],
                reference=lambda a, b, c: propose(a, b, c, 12, 8, 0.4),
                exempt={"gradient": "float32 only, and zero"}, dtypes=("float32",), native=False,
                **LOOSE)


ROIS = [[0, 1, 1, 5, 4], [1, 0.6, 2.25, 7.4, 6], [1, -3, -2, 2, 3], [0, 4, 4, 2, 2],
        [-1, 0, 0, 3, 3]]

CASES = [
    Case("GridGenerator", {"transform_type": "affine", "target_shape": (3, 4)}, [(2, 6)],
         reference=lambda x: affine(x, 3, 4), dtypes=FLOATS, native=False, **LOOSE),
    Case("GridGenerator", {"transform_type": "warp"}, [(2, 2, 3, 4)], reference=warp,
         dtypes=FLOATS, native=False, **LOOSE),
    Case("BilinearSampler", {}, [(2, 3, 4, 5), Input((2, 2, 3, 3), low=-1.3, high=1.3)],
         reference=sampled, dtypes=FLOATS[:2], native=False, **LOOSE),
    Case("BilinearSampler", {}, [(1, 20, 3, 3), (1, 2, 4, 2)], reference=sampled,
         dtypes=FLOATS[:2], native=False, **LOOSE),
    Case("SpatialTransformer",
         {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (4, 3)},
         [(2, 3, 5, 6), (2, 6)], reference=lambda d, m: sampled(d, affine(m, 4, 3)),
         dtypes=FLOATS[:2], native=False, **LOOSE),
    correlation({}),
    correlation({"kernel_size": 3, "max_displacement": 2, "pad_size": 3, "stride2": 2}, kernel=3,
                most=2, pad=3, stride2=2),
    correlation({"stride1": 2, "pad_size": 2, "is_multiply": False}, stride1=2, pad=2,
                multiply=False),
    Case("_contrib_PSROIPooling", {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 3},
         [(2, 18, 7, 8), Input((5, 5), values=ROIS)],
         reference=lambda d, r: pooled(d, r, 1.0, 2, 3, 3), no_grad={1}, dtypes=FLOATS,
         native=False),
    Case("_contrib_PSROIPooling",
         {"spatial_scale": 0.5, "output_dim": 3, "pooled_size": 3, "group_size": 2},
         [(2, 12, 7, 8), Input((5, 5), values=ROIS)],
         reference=lambda d, r: pooled(d, r, 0.5, 3, 3, 2), no_grad={1}, dtypes=FLOATS,
         native=False),
    proposals("_contrib_MultiProposal", 2, [[70, 90, 1.0], [80, 96, 0.5]]),
    proposals("_contrib_Proposal", 1, [[80, 96, 1.0]]),
]
