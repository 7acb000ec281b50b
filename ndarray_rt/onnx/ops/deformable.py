"""Convolution whose windows meet data at places that the data decide."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...ops.blas import uses_blas
from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import operator
from ..values import Value, constant, need_bytes
from .windows import Window


def _samples(x: Array, at: Array) -> Array:
    """Linear samples (images, channels, places) of x (images, channels, *dims).

    `at` (images, axes, places) is where; what lies beyond the data is 0.
    """
    dims = x.shape[2:]
    flat = x.reshape(*x.shape[:2], prod(dims))
    low = np.floor(at)
    share = at - low
    made = np.zeros((*x.shape[:2], at.shape[2]), x.dtype)
    ends = np.array(dims).reshape(-1, 1)
    for corner in product((0, 1), repeat=len(dims)):
        bits = np.array(corner).reshape(-1, 1)
        pixel = low + bits
        inside = ((pixel >= 0) & (pixel < ends)).all(1)
        weight = np.where(bits, share, 1 - share).prod(1) * inside
        place = np.ravel_multi_index(
            tuple(np.where(inside[:, None], pixel, 0).astype(np.int64).swapaxes(0, 1)), dims)
        made += np.take_along_axis(flat, place[:, None], 2) * weight[:, None].astype(x.dtype)
    return made


def _check(x: Array | Value, w: Array | Value, offset: Array | Value, window: Window,
           group: int, parts: int) -> None:
    """ValueError where shapes and attributes do not go together."""
    if len(w.shape) != len(x.shape) or group < 1 or x.shape[1] != w.shape[1] * group \
            or w.shape[0] % group:
        raise ValueError(f"data {x.shape} and weights {w.shape} of {group} group(s)")
    wanted = (x.shape[0], parts * prod(window.kernel) * len(window.kernel), *window.outs)
    if parts < 1 or x.shape[1] % parts or offset.shape != wanted:
        raise ValueError(f"offsets {offset.shape} of {parts} group(s) for data {x.shape}, "
                         f"expected {wanted}")


@operator("DeformConv")
@uses_blas
def deform_conv(node: Node, x: Array, w: Array, offset: Array, bias: Array | None = None,
                mask: Array | None = None) -> Array:
    window = Window(node, x.shape[2:], w.shape[2:])
    group, parts = int(node.attr("group", 1)), int(node.attr("offset_group", 1))
    _check(x, w, offset, window, group, parts)
    axes, points, pixels = len(window.kernel), prod(window.kernel), prod(window.outs)
    need_bytes([*x.shape[:2], points, pixels], x.dtype)
    at = offset.reshape(x.shape[0] * parts, points, axes, *window.outs).swapaxes(1, 2)
    grid = np.indices((*window.kernel, *window.outs))
    begins = np.stack([
        grid[axes + i] * window.strides[i] + grid[i] * window.dilations[i] - window.pads[i][0]
        for i in range(axes)]).reshape(axes, points, *window.outs)
    at = (at + begins.astype(x.dtype)).reshape(len(at), axes, points * pixels)
    images = x.reshape(x.shape[0] * parts, x.shape[1] // parts, *x.shape[2:])
    found = _samples(images, at)
    if mask is not None:
        found *= mask.reshape(len(images), 1, points * pixels)
    columns = found.reshape(x.shape[0], group, x.shape[1] // group * points, pixels)
    weight = w.reshape(group, w.shape[0] // group, -1)
    made = (weight @ columns).reshape(x.shape[0], w.shape[0], *window.outs)
    if bias is not None:
        made = made + bias.reshape((-1,) + (1,) * axes)
    return made.astype(x.dtype, copy=False)


@deform_conv.sized
def deform_conv_size(node: Node, x: Array, w: Array, *rest: Array | None,
                     ) -> tuple[list[int], Any]:
    return [x.shape[0], w.shape[0], *Window(node, x.shape[2:], w.shape[2:]).outs], x.dtype


@deform_conv.symbol
def deform_conv_symbol(b: GraphBuilder, node: Node, x: Value, w: Value, offset: Value,
                       bias: Value | None = None, mask: Value | None = None) -> Value | None:
    if not x.is_float or x.rank != 4:
        return None
    window = Window(node, x.shape[2:], w.shape[2:])
    group, parts = int(node.attr("group", 1)), int(node.attr("offset_group", 1))
    _check(x, w, offset, window, group, parts)
    pads = window.same_pads(x.shape[2:])
    if pads is None or min(pads) < 0:
        return None
    if mask is None:
        ones = np.ones((x.shape[0], parts * prod(window.kernel), *window.outs), x.dtype)
        mask = constant(ones)
    given = [x, offset, mask, w] if bias is None else [x, offset, mask, w, bias]
    return b.op("_contrib_ModulatedDeformableConvolution", *given, kernel=window.kernel,
                stride=window.strides, dilate=window.dilations, pad=pads, num_filter=w.shape[0],
                num_group=group, num_deformable_group=parts, no_bias=bias is None)
