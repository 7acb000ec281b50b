"""im2col and col2im: the windows of images as columns, and their sum back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ...errors import ShapeError
from ...op.params import Params, params_class
from ...op.params import shape as dims
from ...op.registry import Shape
from ..floats import wide
from ..tensor.linear import register_linear


@params_class
class Im2colParams(Params):
    kernel: tuple[int, ...] = dims(low=1, doc="the window")
    stride: tuple[int, ...] = dims((), low=1, doc="distance of windows; default 1")
    dilate: tuple[int, ...] = dims((), low=1, doc="distance of elements in a window; default 1")
    pad: tuple[int, ...] = dims((), low=0, doc="zeros at both ends of each axis; default none")


@params_class
class Col2imParams(Params):
    output_size: tuple[int, ...] = dims(low=1, doc="spatial size of the images")
    kernel: tuple[int, ...] = dims(low=1, doc="the window")
    stride: tuple[int, ...] = dims((), low=1, doc="distance of windows; default 1")
    dilate: tuple[int, ...] = dims((), low=1, doc="distance of elements in a window; default 1")
    pad: tuple[int, ...] = dims((), low=0, doc="zeros at both ends of each axis; default none")


P = Im2colParams | Col2imParams


def _all(p: P, values: tuple[int, ...], default: int, name: str) -> tuple[int, ...]:
    if values and len(values) != len(p.kernel):
        raise ShapeError(f"{name}={values}, expected {len(p.kernel)} numbers from "
                         f"kernel={p.kernel}")
    return values or (default,) * len(p.kernel)


def _counts(p: P, size: Shape) -> tuple[int, ...]:
    """How many windows there are along each axis of an image."""
    if len(size) != len(p.kernel):
        raise ShapeError(f"images have spatial size {size}, expected {len(p.kernel)} axes from "
                         f"kernel={p.kernel}")
    strides, dilates = _all(p, p.stride, 1, "stride"), _all(p, p.dilate, 1, "dilate")
    pads = _all(p, p.pad, 0, "pad")
    made = tuple((n + 2 * pad - d * (k - 1) - 1) // s + 1
                 for n, k, s, d, pad in zip(size, p.kernel, strides, dilates, pads, strict=True))
    if min(made) < 1:
        raise ShapeError(f"a window of kernel={p.kernel}, dilate={dilates} does not fit into "
                         f"images of spatial size {size} with pad={pads}")
    return made


def _windows(p: P, counts: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """For each place of the window what it takes of the padded images, the last axes."""
    strides, dilates = _all(p, p.stride, 1, "stride"), _all(p, p.dilate, 1, "dilate")
    for place in product(*(range(k) for k in p.kernel)):
        cuts = (slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s
                in zip(place, dilates, counts, strides, strict=True))
        yield (..., *cuts)


def columns_of(p: P, x: AnyArray) -> AnyArray:
    """(n, channels * window, windows) of images."""
    n, channels, size = x.shape[0], x.shape[1], x.shape[2:]
    counts, pads = _counts(p, size), _all(p, p.pad, 0, "pad")
    whole = np.pad(x, [(0, 0), (0, 0), *((pad, pad) for pad in pads)])
    parts = [whole[cut] for cut in _windows(p, counts)]
    return np.stack(parts, axis=2).reshape(n, channels * len(parts), prod(counts))


def images_of(p: P, columns: AnyArray, size: Shape) -> AnyArray:
    """The sum of the columns where they lie in images of a spatial size."""
    counts, pads = _counts(p, size), _all(p, p.pad, 0, "pad")
    window = prod(p.kernel)
    n, channels = columns.shape[0], columns.shape[1] // window
    parts = columns.reshape(n, channels, window, *counts)
    made = np.zeros((n, channels, *(length + 2 * pad for length, pad
                                    in zip(size, pads, strict=True))), columns.dtype)
    for i, cut in enumerate(_windows(p, counts)):
        made[cut] += parts[:, :, i]
    inner: tuple[Any, ...] = (..., *(slice(pad, pad + length)
                                     for pad, length in zip(pads, size, strict=True)))
    found: AnyArray = made[inner]
    return found


def column_shape(p: Im2colParams, data: Shape) -> Shape:
    if len(data) < 3:
        raise ShapeError(f"data has shape {data}, expected images (n, channels, ...)")
    return data[0], data[1] * prod(p.kernel), prod(_counts(p, data[2:]))


def image_shape(p: Col2imParams, data: Shape) -> Shape:
    window, count = prod(p.kernel), prod(_counts(p, p.output_size))
    if len(data) != 3 or data[1] % window or data[2] != count:
        raise ShapeError(f"data has shape {data}, expected (n, a multiple of {window}, {count}) "
                         f"from kernel={p.kernel}, output_size={p.output_size}")
    return data[0], data[1] // window, *p.output_size


register_linear("im2col", Im2colParams, column_shape, columns_of,
                lambda p, dy, data: images_of(p, dy, data[2:]),
                "The windows of images as columns.\n\n(n, c, h, w), or any number of spatial axes, "
                "becomes (n, c kernel, windows): what a convolution multiplies by its weights. The "
                "dtype stays. Source: MXNet's im2col.")
register_linear("col2im", Col2imParams, image_shape,
                lambda p, x: images_of(p, wide(x), p.output_size).astype(x.dtype, copy=False),
                lambda p, dy, data: columns_of(p, dy),
                "The sum of columns where they lie in images: im2col turned round.\n\n"
                "(n, c kernel, windows) becomes (n, c, *output_size). The dtype stays. Source: "
                "MXNet's col2im.")
