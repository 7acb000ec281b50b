"""Parts of images, cut out and resized, and images turned round their middle."""

from __future__ import annotations

import random
from math import exp, log, sqrt
from numbers import Number
from typing import Any

import numpy as np

from .... import nd
from ....errors import ParameterError, ShapeError, TypeMismatch
from ....nd import NDArray


def crop(image: NDArray, x: int, y: int, width: int, height: int, size: tuple[int, int],
         interpolation: int) -> NDArray:
    """A part of an image (height, width, channels), resized to `size` (width, height)."""
    part = nd.image.crop(image, x=x, y=y, width=width, height=height)
    if (width, height) == tuple(size):
        return part
    if interpolation == 9:  # area for smaller images, cubic for larger ones
        smaller = size[0] < width and size[1] < height
        larger = size[0] > width and size[1] > height
        interpolation = 3 if smaller else 2 if larger else 1
    elif interpolation == 10:
        interpolation = random.randint(0, 4)
    return nd.image.resize(part, size=size, interp=interpolation)


def center_crop(image: NDArray, size: tuple[int, int], interpolation: int) -> NDArray:
    """The middle of an image; of a smaller image, the largest part of the same aspect, resized."""
    rows, columns, _ = image.shape
    width: float
    height: float
    width, height = size
    if rows < height:
        width, height = width * rows / height, rows
    if columns < width:
        width, height = columns, height * columns / width
    across, down = int(width), int(height)
    return crop(image, (columns - across) // 2, (rows - down) // 2, across, down, size,
                interpolation)


def random_crop(image: NDArray, size: tuple[int, int], scale: tuple[float, float],
                ratio: tuple[float, float], interpolation: int) -> NDArray:
    """A random part with a share of the area in `scale` and an aspect in `ratio`, resized.

    After ten parts that are too large, the middle.
    """
    rows, columns, _ = image.shape
    for _ in range(10):
        area = random.uniform(*scale) * rows * columns
        aspect = exp(random.uniform(log(ratio[0]), log(ratio[1])))
        width, height = round(sqrt(area * aspect)), round(sqrt(area / aspect))
        if 1 <= width <= columns and 1 <= height <= rows:
            x, y = random.randint(0, columns - width), random.randint(0, rows - height)
            return crop(image, x, y, width, height, size, interpolation)
    return center_crop(image, size, interpolation)


def rotate(images: NDArray, degrees: Any, zoom_in: bool = False,
           zoom_out: bool = False) -> NDArray:
    """Float32 images (channels, height, width), or a batch, turned by as many degrees, or by one
    angle each; zero beyond their edges.

    `zoom_in` makes them larger until nothing beyond is seen, `zoom_out` smaller until all is.
    Source: MXNet's image.imrotate, through its BilinearSampler.
    """
    if zoom_in and zoom_out:
        raise ParameterError("`zoom_in` and `zoom_out` cannot be both True")
    need_float32(images)
    if images.ndim == 3:
        if not isinstance(degrees, Number):
            raise TypeMismatch("rotate: one image is turned by a number, got "
                               f"{type(degrees).__name__}")
        return rotate(images.expand_dims(axis=0), degrees, zoom_in, zoom_out)[0]
    if images.ndim != 4:
        raise ShapeError(f"rotate: images have shape {images.shape}, expected 3 or 4 axes")
    count, _, height, width = images.shape
    angles = np.asarray(degrees.asnumpy() if isinstance(degrees, NDArray) else degrees, np.float64)
    if angles.shape not in ((), (count,)):
        raise ShapeError(f"rotate: {angles.size} angles for {count} images")
    angles = np.broadcast_to(np.deg2rad(angles), (count,))[:, None, None]
    half_width, half_height = (width - 1) / 2 or 1.0, (height - 1) / 2 or 1.0
    x = np.arange(width)[None, None, :] - (width - 1) / 2
    y = np.arange(height)[None, :, None] - (height - 1) / 2
    grid = np.stack([(x * np.cos(angles) - y * np.sin(angles)) / half_width,
                     (x * np.sin(angles) + y * np.cos(angles)) / half_height], axis=1)
    if zoom_in or zoom_out:
        turn, diagonal = np.abs(angles), np.arctan(height / width)
        corners = np.stack([diagonal + turn, diagonal - turn])
        reach = np.hypot(height, width)
        wide = np.abs(reach * np.cos(corners)).max(0) / width
        high = np.abs(reach * np.sin(corners)).max(0) / height
        larger = np.maximum(wide, high)
        grid *= (larger if zoom_out else 1 / larger)[:, None]
    return nd.BilinearSampler(images, nd.array(grid, ctx=images.context, dtype="float32"))


def need_float32(image: NDArray) -> None:
    """Raises TypeMismatch for other images."""
    if np.dtype(image.dtype) != np.float32:
        raise TypeMismatch("This transformation only supports float32. Consider calling it after "
                           "ToTensor")
