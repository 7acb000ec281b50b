"""Which pixels a resized image is made of, and how much each counts. Registers no operator.

The rules are those of OpenCV's resize, which MXNet calls; bytes are computed in whole numbers as
there, so that results agree to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._array.layout import AnyArray

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)

_UNIT = 2048  # of the weights for bytes
_CUBIC = -0.75


class Taps(NamedTuple):
    """Pixels of an axis for each of the output's: places (n, k) and single-precision weights."""

    at: AnyArray
    weight: AnyArray


def cubic_weights(part: AnyArray) -> AnyArray:
    """Weights of four pixels round a place."""
    a = np.float32(_CUBIC)
    x = part.astype(np.float32)
    first = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    second = ((a + 2) * x - (a + 3)) * x * x + 1
    third = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1
    return np.stack([first, second, third, 1 - first - second - third], -1)


def lanczos_weights(part: AnyArray) -> AnyArray:
    """Weights of eight pixels round a place."""
    away = part.astype(np.float64)[:, None] + 3 - np.arange(8)
    made = np.sinc(away) * np.sinc(away / 4)
    weight: AnyArray = (made / made.sum(1, keepdims=True)).astype(np.float32)
    return weight


def _spread(near: AnyArray, weight: AnyArray, length: int) -> Taps:
    """Pixels beside each other; those beyond the ends are the ends."""
    count = weight.shape[1]
    at = near[:, None] + np.arange(count) - (count // 2 - 1)
    return Taps(np.clip(at, 0, length - 1), weight.astype(np.float32))


def axis_taps(interp: int, size: int, length: int, grows: bool, is_row: bool) -> Taps:
    """Taps of an axis. `grows`: the image grows along one of its axes; only AREA asks."""
    back = size / length
    scale = 1 / back
    order = np.arange(size)
    if interp == NEAREST:
        near = np.minimum(np.floor(order * scale).astype(np.int64), length - 1)
        return Taps(near[:, None], np.ones((size, 1), np.float32))
    if interp == AREA and not grows:
        return _area(size, length, scale)
    if interp == AREA:
        near = np.floor(order * scale).astype(np.int64)
        part = ((order + 1) - (near + 1) * back).astype(np.float32)
        part = np.where(part <= 0, 0, part - np.floor(part)).astype(np.float32)
    else:
        place = ((order + 0.5) * scale - 0.5).astype(np.float32)
        near = np.floor(place).astype(np.int64)
        part = place - near.astype(np.float32)
    if interp == CUBIC:
        return _spread(near, cubic_weights(part), length)
    if interp == LANCZOS:
        return _spread(near, lanczos_weights(part), length)
    if not is_row:
        # columns have no share in what lies beyond the ends; for rows it is the end twice
        beyond = (near < 0) | (near >= length - 1)
        part = np.where(beyond, 0, part).astype(np.float32)
        near = np.clip(near, 0, length - 1)
    return _spread(near, np.stack([1 - part, part], -1), length)


def _area(size: int, length: int, scale: float) -> Taps:
    """The pixels that lie in a pixel of a smaller image, in part at its ends."""
    low = np.arange(size) * scale
    high = low + scale
    cell = np.minimum(scale, length - low)
    last = np.minimum(np.floor(high).astype(np.int64), length - 1)
    first = np.minimum(np.ceil(low).astype(np.int64), last)
    count = int((last - first).max(initial=0)) + 2
    at = first[:, None] - 1 + np.arange(count)
    inside = (at >= first[:, None]) & (at < last[:, None])
    weight = np.where(inside, 1 / cell[:, None], 0)
    left = first - low
    weight[:, 0] = np.where(left > 1e-3, left / cell, 0)
    right = high - last
    share = np.where(right > 1e-3, np.minimum(np.minimum(right, 1), cell) / cell, 0)
    rows = np.arange(size)
    weight[rows, last - first + 1] = share
    return Taps(np.clip(at, 0, length - 1), weight.astype(np.float32))


def _sum(images: AnyArray, taps: Taps, axis: int, weight: AnyArray) -> AnyArray:
    """Weighted sums along an axis, one tap after the other."""
    shape = [1] * images.ndim
    shape[axis] = -1
    made: AnyArray = np.take(images, taps.at[:, 0], axis)
    made *= weight[:, 0].reshape(shape)
    part = np.empty_like(made)
    for k in range(1, taps.at.shape[1]):
        # without the mode, whose places are all within the image, it would make a copy first
        np.take(images, taps.at[:, k], axis, out=part, mode="clip")
        part *= weight[:, k].reshape(shape)
        made += part
    return made


def _blocks(images: AnyArray, high: int, wide: int) -> AnyArray:
    """Means of blocks of whole pixels."""
    n, height, width, depth = images.shape
    parts = images.reshape(n, height // high, high, width // wide, wide, depth)
    if images.dtype == np.uint8:
        total = parts.sum((2, 4), dtype=np.int64)
        if high == wide == 2:
            made: AnyArray = (total + 2) >> 2
        else:
            made = np.rint(total.astype(np.float32) * np.float32(1 / (high * wide)))
    else:
        made = parts.mean((2, 4), dtype=images.dtype)
    return made.astype(images.dtype)


def _bytes(images: AnyArray, rows: Taps, columns: Taps, interp: int) -> AnyArray:
    """Bytes in whole numbers."""
    # weights of Lanczos are large enough, taken positive, for sums beyond 32 bits
    number = np.int64 if interp == LANCZOS else np.int32

    def whole(taps: Taps) -> AnyArray:
        weight: AnyArray = np.rint(taps.weight * np.float32(_UNIT)).astype(number)
        return weight
    across = _sum(images.astype(number), columns, 2, whole(columns))
    if interp in (LINEAR, AREA):
        weight = whole(rows)[:, :, None, None]
        near = np.take(across, rows.at[:, 0], 1) >> 4
        far = np.take(across, rows.at[:, 1], 1) >> 4
        made: AnyArray = (((weight[:, 0] * near) >> 16) + ((weight[:, 1] * far) >> 16) + 2) >> 2
    else:
        made = (_sum(across, rows, 1, whole(rows)) + (1 << 21)) >> 22
    clipped: AnyArray = np.clip(made, 0, 255).astype(np.uint8)
    return clipped


def halves(old: tuple[int, ...], height: int, width: int) -> bool:
    """An image of half the height and width: bilinear samples are means of blocks then."""
    return old[0] == 2 * height and old[1] == 2 * width


def resize(images: AnyArray, height: int, width: int, interp: int) -> AnyArray:
    """Images (n, height, width, depth) of uint8 or floats in another size."""
    old = images.shape[1:3]
    grows = height > old[0] or width > old[1]
    even = old[0] % height == 0 and old[1] % width == 0
    high, wide = old[0] // height, old[1] // width
    if interp == LINEAR and halves(old, height, width):
        interp = AREA
    if interp == AREA and even and not grows:
        return _blocks(images, high, wide)
    rows = axis_taps(interp, height, old[0], grows, True)
    columns = axis_taps(interp, width, old[1], grows, False)
    if interp == NEAREST:
        return images[:, rows.at[:, 0]][:, :, columns.at[:, 0]]
    if images.dtype == np.uint8:
        if interp != AREA or grows:
            return _bytes(images, rows, columns, interp)
        made = _sum(_sum(images.astype(np.float32), columns, 2, columns.weight), rows, 1,
                    rows.weight)
        return np.clip(np.rint(made), 0, 255).astype(np.uint8)
    across = _sum(images, columns, 2, columns.weight.astype(images.dtype))
    return _sum(across, rows, 1, rows.weight.astype(images.dtype))
