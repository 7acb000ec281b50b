"""Affine maps of images by OpenCV's warpAffine: bytes, places in parts of 32 of a pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.image.taps import CUBIC, LANCZOS, LINEAR, NEAREST, cubic_weights, lanczos_weights

AnyArray = np.ndarray[Any, Any]

_PART_BITS, _UNIT_BITS = 5, 10
PARTS = 1 << _PART_BITS  # of a pixel
_UNIT = 1 << _UNIT_BITS  # what places are computed in
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
        + (np.rint((row[1] * y + row[2]) * _UNIT).astype(np.int64) + half) for row in inverse)
    source = _Framed(pixels, fill)
    if interp == NEAREST:
        return source.at(source.row(down >> _UNIT_BITS), source.column(across >> _UNIT_BITS))
    if interp not in _TAPS:
        interp = LINEAR
    across, down = across >> _UNIT_BITS - _PART_BITS, down >> _UNIT_BITS - _PART_BITS
    weights = _weights(interp)
    of_column, of_row = weights[across & PARTS - 1], weights[down & PARTS - 1]
    across, down = across >> _PART_BITS, down >> _PART_BITS
    places = range(1 - _TAPS[interp] // 2, _TAPS[interp] // 2 + 1)
    columns = [source.column(across + j) for j in places]
    made = np.zeros((height, width, pixels.shape[2]), np.float32)
    for i, place in enumerate(places):
        row = source.row(down + place)
        for j, column in enumerate(columns):
            made += source.at(row, column) * (of_row[..., i] * of_column[..., j])[..., None]
    np.rint(made, out=made)
    if interp != LINEAR:  # weights below 0
        np.maximum(made, 0, out=made)
        np.minimum(made, 255, out=made)
    return made.astype(np.uint8)


class _Framed:
    """An image with a frame of one level, which stands for all that lies beyond it."""

    def __init__(self, pixels: AnyArray, fill: int) -> None:
        self._height, self._width, channels = pixels.shape
        framed = np.full((self._height + 2, self._width + 2, channels), fill, pixels.dtype)
        framed[1:-1, 1:-1] = pixels
        self._pixels = framed.reshape(-1, channels)

    def row(self, y: AnyArray) -> AnyArray:
        """Where rows begin."""
        made: AnyArray = (np.minimum(np.maximum(y, -1), self._height) + 1) * (self._width + 2)
        return made

    def column(self, x: AnyArray) -> AnyArray:
        """How far columns are from there."""
        made: AnyArray = np.minimum(np.maximum(x, -1), self._width) + 1
        return made

    def at(self, row: AnyArray, column: AnyArray) -> AnyArray:
        """The pixels at those places."""
        return self._pixels.take(row + column, axis=0)


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
