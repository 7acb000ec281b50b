"""BilinearResize2D, AdaptiveAvgPooling2D, UpSampling."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


def bilinear(x: Array, height: int, width: int, align: bool = True) -> Array:
    """One pixel after the other."""
    def place(k: int, size: int, made: int) -> tuple[int, int, float]:
        if made == 1:
            at = 0.0
        elif align:
            at = k * (size - 1) / (made - 1)
        else:
            at = max(0.0, (k + 0.5) * size / made - 0.5)
        first = min(int(at), size - 1)
        return first, min(first + 1, size - 1), at - first
    y = np.empty((*x.shape[:2], height, width))
    for i in range(height):
        a, b, s = place(i, x.shape[2], height)
        for j in range(width):
            c, d, t = place(j, x.shape[3], width)
            y[:, :, i, j] = ((1 - s) * ((1 - t) * x[:, :, a, c] + t * x[:, :, a, d])
                             + s * ((1 - t) * x[:, :, b, c] + t * x[:, :, b, d]))
    return y


def pooled(x: Array, height: int, width: int) -> Array:
    y = np.empty((*x.shape[:2], height, width))
    h, w = x.shape[2:]
    for i in range(height):
        for j in range(width):
            y[:, :, i, j] = x[:, :, floor(i * h / height):ceil((i + 1) * h / height),
                              floor(j * w / width):ceil((j + 1) * w / width)].mean((2, 3))
    return y


def repeated(scale: int, mode: str, *arrays: Array) -> Array:
    height = arrays[0].shape[2] * scale
    large = [np.kron(x, np.ones((height // x.shape[2],) * 2)) for x in arrays]
    return sum(large[1:], large[0]) if mode == "sum" else np.concatenate(large, 1)


def spread(x: Array, w: Array, scale: int) -> Array:
    """A deconvolution, pixel by pixel."""
    n, c, h, wd = x.shape
    k, pad = w.shape[2], scale // 2
    y = np.zeros((n, c, scale * (h - 1) + k, scale * (wd - 1) + k))
    for i in range(h):
        for j in range(wd):
            y[:, :, i * scale:i * scale + k, j * scale:j * scale + k] += (
                x[:, :, i, j, None, None] * w[:, 0])
    return y[:, :, pad:y.shape[2] - pad, pad:y.shape[3] - pad]


def resize(data: tuple[int, ...], made: tuple[int, int], note: str = "", native: bool = True,
           **params: Any) -> Case:
    align = params.get("align_corners", True)
    if not {"mode", "scale_height"} & set(params):
        params = {"height": made[0], "width": made[1], **params}
    return Case("_contrib_BilinearResize2D", params, [data],
                reference=lambda x: bilinear(x, *made, align), native=native,
                native_backward=native, dtypes=("float32", "float64", "float16"), note=note)


def adaptive(data: tuple[int, ...], size: tuple[int, ...]) -> Case:
    full = (size or (1,)) * 2
    return Case("_contrib_AdaptiveAvgPooling2D", {"output_size": size}, [data],
                reference=lambda x: pooled(x, full[0], size[-1] if size else 1), native=True,
                native_backward=True, dtypes=("float32", "float64", "float16"))


def nearest(scale: int, *shapes: tuple[int, ...], mode: str = "concat") -> Case:
    params = {"scale": scale, "sample_type": "nearest", "num_args": len(shapes),
              "multi_input_mode": mode}
    return Case("UpSampling", params, list(shapes),
                reference=lambda *arrays: repeated(scale, mode, *arrays),
                native=len(shapes) == 1, native_backward=len(shapes) == 1,
                dtypes=("float32", "float64", "float16"))


def by_weight(scale: int, data: tuple[int, ...]) -> Case:
    k = 2 * scale - scale % 2
    params = {"scale": scale, "sample_type": "bilinear", "num_filter": data[1], "num_args": 2}
    return Case("UpSampling", params,
                [data, Input((data[1], 1, k, k), weight_groups=data[1])],
                reference=lambda x, w: spread(x, w, scale))


CASES = [
    resize((1, 2, 3, 4), (5, 7)),
    resize((2, 20, 3, 3), (6, 2)),
    resize((1, 2, 3, 4), (5, 7), align_corners=False),
    resize((1, 2, 5, 4), (2, 1), align_corners=False),
    resize((1, 1, 4, 5), (6, 9), mode="odd_scale", scale_height=1.5, scale_width=2.0),
    resize((1, 2, 4, 5), (5, 5), mode="to_odd_up"),
    resize((1, 2, 4, 5), (8, 3), scale_height=2.0, scale_width=0.7),
    resize((0, 2, 4, 5), (2, 2), note="no images", native=False),
    Case("_contrib_BilinearResize2D", {"mode": "like"}, [(1, 2, 3, 4), (2, 1, 4, 2)],
         reference=lambda x, like: bilinear(x, 4, 2), no_grad={1}),
    adaptive((1, 2, 4, 5), ()),
    adaptive((1, 2, 4, 5), (2,)),
    adaptive((2, 20, 4, 5), (3, 2)),
    adaptive((1, 2, 4, 5), (6, 7)),
    nearest(2, (1, 2, 3, 2)),
    nearest(3, (2, 20, 2, 2)),
    nearest(2, (1, 2, 3, 2), (1, 3, 6, 4)),
    nearest(2, (1, 2, 2, 2), (1, 1, 1, 1)),
    nearest(2, (1, 2, 3, 2), (1, 2, 6, 4), (1, 2, 3, 2), mode="sum"),
    by_weight(2, (1, 2, 3, 2)),
    by_weight(3, (2, 3, 2, 2)),
]
