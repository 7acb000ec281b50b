"""Bilinear samples of images at given places, and their gradients. Registers no operator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._array.layout import AnyArray


class Corner(NamedTuple):
    """One of the four pixels of each sample: (images, samples) each."""

    at: AnyArray  # its place among the pixels of the image
    weight: AnyArray
    slope_y: AnyArray  # of the weight
    slope_x: AnyArray


def _axis(place: AnyArray, length: int, edge: bool) -> list[tuple[AnyArray, AnyArray, AnyArray]]:
    """(pixel, weight, slope of the weight) of the two pixels beside each place of an axis.

    What lies beyond the image is zero; with `edge` the image goes on from its last pixel to its
    end, and counts from its first pixel on only.
    """
    if not length:
        zero = np.zeros(place.shape, place.dtype)
        return [(zero.astype(np.int64), zero, zero)]
    low = np.floor(place)
    inside = (low >= -1) & (low < length)
    if edge:
        inside = (place >= 0) & (place < length)
    near = np.where(inside, low, 0).astype(np.int64)
    part = np.where(inside, place - low, 0)
    made = []
    for pixel, weight, sign in ((near, 1 - part, -1), (near + 1, part, 1)):
        used = inside
        if edge:
            pixel = np.minimum(pixel, length - 1)
        else:
            used = inside & (pixel >= 0) & (pixel < length)
        zero = np.zeros((), place.dtype)
        made.append((np.clip(pixel, 0, length - 1), np.where(used, weight, zero),
                     np.where(used, place.dtype.type(sign), zero)))
    return made


def corners(y: AnyArray, x: AnyArray, height: int, width: int, edge: bool = False) -> list[Corner]:
    """The pixels that samples at rows y and columns x are made of."""
    made = []
    for row, high, high_slope in _axis(y, height, edge):
        for column, wide, wide_slope in _axis(x, width, edge):
            made.append(Corner(row * width + column, high * wide, high_slope * wide,
                               high * wide_slope))
    return made


def _pixels(flat: AnyArray, at: AnyArray) -> AnyArray:
    """(images, channels, samples) of (images, channels, pixels)."""
    if not flat.shape[2]:
        return np.zeros((*flat.shape[:2], at.shape[1]), flat.dtype)
    return np.take_along_axis(flat, at[:, None, :], 2)


def sample(data: AnyArray, places: list[Corner]) -> AnyArray:
    """(images, channels, samples) of data (images, channels, height, width)."""
    flat = data.reshape(*data.shape[:2], data.shape[2] * data.shape[3])
    made: AnyArray = sum(_pixels(flat, c.at) * c.weight[:, None] for c in places)  # type: ignore
    return made


def data_gradient(dy: AnyArray, places: list[Corner], shape: tuple[int, ...]) -> AnyArray:
    """What comes back to the data of `shape` from the gradient of its samples."""
    images, channels, height, width = shape
    made = np.zeros((images, height * width, channels), dy.dtype)
    if made.size:
        image = np.arange(images)[:, None]
        for c in places:
            np.add.at(made, (image, c.at), (dy * c.weight[:, None]).swapaxes(1, 2))
    back: AnyArray = made.swapaxes(1, 2).reshape(shape)
    return back


def place_gradients(dy: AnyArray, data: AnyArray, places: list[Corner],
                    ) -> tuple[AnyArray, AnyArray]:
    """What comes back to rows and columns: (images, samples) each."""
    flat = data.reshape(*data.shape[:2], data.shape[2] * data.shape[3])
    rows = np.zeros((dy.shape[0], dy.shape[2]), dy.dtype)
    columns = rows.copy()
    for c in places:
        share = np.einsum("ncp,ncp->np", dy, _pixels(flat, c.at))
        rows += share * c.slope_y
        columns += share * c.slope_x
    return rows, columns
