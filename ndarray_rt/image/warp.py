"""Affine maps of images by OpenCV's warpAffine: bytes, places in parts of 32 of a pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.image.taps import CUBIC, LANCZOS, LINEAR, NEAREST, cubic_weights, lanczos_weights

AnyArray = np.ndarray[Any, Any]

PARTS = 32  # of a pixel
_UNIT = 1024  # what places are computed in
_TAPS = {LINEAR: 2, CUBIC: 4, LANCZOS: 8}


def warp_affine(pixels: AnyArray, matrix: AnyArray, width: int, height: int, interp: int,
                fill: int) -> AnyArray:
    """The image (height, width, channels) of uint8 under the map (2, 3) of its places; `fill` is
    in pixels that come from beyond it. Area counts as bilinear.
    """
    inverse = _inverse(np.asarray(matrix, np.float64))
    half = _UNIT // 2 if interp == NEAREST else _UNIT // PARTS // 2
    x, y = np.arange(width), np.arange(height)[:, None]
    across, down = (
        np.rint(row[0] * x * _UNIT).astype(np.int64)
        + np.rint((row[1] * y + row[2]) * _UNIT).astype(np.int64) + half for row in inverse)
    if interp == NEAREST:
        return _taken(pixels, down // _UNIT, across // _UNIT, fill)
    if interp not in _TAPS:
        interp = LINEAR
    step = _UNIT // PARTS
    across, down = across // step, down // step
    weights = _weights(interp)
    columns, rows = weights[across % PARTS], weights[down % PARTS]
    first = 1 - _TAPS[interp] // 2
    made = np.zeros((height, width, pixels.shape[2]), np.float32)
    for i in range(_TAPS[interp]):
        for j in range(_TAPS[interp]):
            part = _taken(pixels, down // PARTS + first + i, across // PARTS + first + j, fill)
            made += part * (rows[..., i] * columns[..., j])[..., None]
    rounded: AnyArray = np.clip(np.rint(made), 0, 255).astype(np.uint8)
    return rounded


def _inverse(matrix: AnyArray) -> AnyArray:
    """The map back; of one that has none, zeros."""
    (a, b, x), (c, d, y) = matrix
    area = a * d - b * c
    if area == 0:
        return np.zeros((2, 3))
    made: AnyArray = np.array([[d, -b, b * y - d * x], [-c, a, c * x - a * y]]) / area
    return made


def _weights(interp: int) -> AnyArray:
    """(parts, taps) weights of the pixels round a place."""
    part = (np.arange(PARTS) / PARTS).astype(np.float32)
    if interp == LINEAR:
        return np.stack([1 - part, part], -1)
    return cubic_weights(part) if interp == CUBIC else lanczos_weights(part)


def _taken(pixels: AnyArray, rows: AnyArray, columns: AnyArray, fill: int) -> AnyArray:
    height, width, _ = pixels.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    made: AnyArray = pixels[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]
    made[~inside] = fill
    return made
