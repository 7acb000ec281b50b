"""Resize, GridSample and other work on images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ModelFormatError
from ...ops.blas import uses_blas
from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import axes_of, operator
from ..values import Value

# elements of a matrix that stands for an axis; what is larger has little else than zeros
_LARGEST_MATRIX = 1 << 22
_MODES = {"mode": ("nearest", "linear", "cubic"), "where": (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
    "tf_half_pixel_for_nn", "tf_crop_and_resize"),
    "nearest": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "policy": ("stretch", "not_larger", "not_smaller")}


class _Resizing:
    """What a Resize does along each axis."""

    def __init__(self, node: Node, dims: tuple[int, ...], roi: Any, scales: Any,
                 sizes: Any) -> None:
        rank = len(dims)
        axes = axes_of(node, None, rank) or tuple(range(rank))
        self.mode = node.attr("mode", "nearest")
        self.where = node.attr("coordinate_transformation_mode",
                               "half_pixel" if node.opset >= 11 else "asymmetric")
        self.nearest = node.attr("nearest_mode",
                                 "round_prefer_floor" if node.opset >= 11 else "floor")
        self.cubic = float(node.attr("cubic_coeff_a", -0.75))
        self.excludes = bool(node.attr("exclude_outside", 0))
        self.antialias = bool(node.attr("antialias", 0))
        self.beyond = float(node.attr("extrapolation_value", 0.0))
        self.policy = node.attr("keep_aspect_ratio_policy", "stretch")
        for field, words in _MODES.items():
            if getattr(self, field) not in words:
                raise ModelFormatError(f"{getattr(self, field)!r} is none of "
                                       f"{', '.join(words)}")
        self.dims = dims
        self.outs = list(dims)
        self.scales = [1.0] * rank
        self.starts, self.ends = [0.0] * rank, [1.0] * rank
        if roi is not None and len(roi):
            for i, axis in enumerate(axes):
                self.starts[axis], self.ends[axis] = float(roi[i]), float(roi[len(axes) + i])
        if sizes is not None and len(sizes):
            self._by_sizes(axes, [int(s) for s in sizes])
        else:
            for axis, scale in zip(axes, scales, strict=True):
                if not 0 < scale < math.inf:
                    raise ValueError(f"a scale of {scale}")
                self.scales[axis] = float(scale)
                self.outs[axis] = math.floor(dims[axis] * float(scale))

    def _by_sizes(self, axes: tuple[int, ...], sizes: list[int]) -> None:
        ratios = [s / self.dims[a] for a, s in zip(axes, sizes, strict=True)]
        for axis, wanted, ratio in zip(axes, sizes, ratios, strict=True):
            if self.policy != "stretch":
                ratio = min(ratios) if self.policy == "not_larger" else max(ratios)
                wanted = math.floor(ratio * self.dims[axis] + 0.5)
            self.outs[axis], self.scales[axis] = wanted, ratio

    def places(self, axis: int) -> Array:
        """For each place of the output the one in data that it is taken from."""
        length, out, scale = self.dims[axis], self.outs[axis], self.scales[axis]
        x = np.arange(out, dtype=np.float64)
        where = self.where
        if where == "asymmetric":
            return x / scale
        # the size that scales mean, which is no whole number
        width = length * scale
        if where == "align_corners":
            return x * (length - 1) / (width - 1) if width != 1 else np.zeros(out)
        if where == "pytorch_half_pixel":
            return (x + 0.5) / scale - 0.5 if out > 1 else np.zeros(out)
        if where == "half_pixel_symmetric":
            # the middle stays where it is, whatever the size was rounded to: counted from there,
            # it is exact
            return length / 2 - 0.5 + (x + 0.5 - out / 2) / scale
        if where == "tf_half_pixel_for_nn":
            return (x + 0.5) / scale
        if where == "tf_crop_and_resize":
            start, end = self.starts[axis], self.ends[axis]
            if width != 1:
                return x * (end - start) * (length - 1) / (width - 1) + start * (length - 1)
            return np.full(out, (end - start) * (length - 1) / 2 + start * (length - 1))
        return (x + 0.5) / scale - 0.5

    def rounded(self, places: Array) -> Array:
        """Places of the nearest mode."""
        if self.nearest == "floor":
            made: Array = np.floor(places)
        elif self.nearest == "ceil":
            made = np.ceil(places)
        elif self.nearest == "round_prefer_ceil":
            made = np.floor(places + 0.5)
        else:
            made = np.ceil(places - 0.5)
        return made

    def taps(self, axis: int) -> tuple[Array, Array]:
        """(out, k) places in data, and how much of each a place of the output takes."""
        length = self.dims[axis]
        places = self.places(axis)
        if self.mode == "nearest":
            return np.clip(self.rounded(places), 0, length - 1).astype(int)[:, None], np.ones(
                (len(places), 1))
        shrink = min(self.scales[axis], 1.0) if self.antialias else 1.0
        reach = (1.0 if self.mode == "linear" else 2.0) / shrink
        taps = np.floor(places - reach).astype(int)[:, None] + np.arange(
            1, math.floor(2 * reach) + 2)
        weights = self._weights((taps - places[:, None]) * shrink)
        if self.excludes:
            weights = np.where((taps < 0) | (taps >= length), 0, weights)
        if self.excludes or self.antialias:
            total = weights.sum(1, keepdims=True)
            weights = weights / np.where(total == 0, 1, total)
        return np.clip(taps, 0, length - 1), weights

    def matrix(self, axis: int) -> Array:
        """(out, length): the same as what each place of the output takes of data."""
        taps, weights = self.taps(axis)
        made = np.zeros((len(taps), self.dims[axis]))
        np.add.at(made, (np.arange(len(taps))[:, None], taps), weights)
        return made

    def _weights(self, distance: Array) -> Any:
        d = np.abs(distance)
        if self.mode == "linear":
            return np.maximum(0, 1 - d)
        a = self.cubic
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _resizing(node: Node, dims: tuple[int, ...], args: tuple[Any, ...]) -> _Resizing:
    if node.op == "Upsample":
        scales = node.attr("scales") if not args or args[0] is None else args[0]
        return _Resizing(node, dims, None, scales, None)
    if node.opset < 11:
        return _Resizing(node, dims, None, args[0], None)
    roi, scales, sizes = (*args, None, None, None)[:3]
    return _Resizing(node, dims, roi, scales if scales is not None and len(scales) else None, sizes)


@operator("Resize", "Upsample", shape_from=(1, 2, 3))
@uses_blas
def resize(node: Node, x: Array, *args: Array | None) -> Array:
    how = _resizing(node, x.shape, args)
    made: Array = x
    axes = [a for a in range(x.ndim) if how.outs[a] != x.shape[a] or how.scales[a] != 1.0
            or how.where == "tf_crop_and_resize"]
    if how.mode == "nearest":
        for axis in axes:
            places = np.clip(how.rounded(how.places(axis)), 0, x.shape[axis] - 1)
            made = np.take(made, places.astype(int), axis)
    else:
        own = made.astype(np.float64)
        for axis in axes:
            taps, weights = how.taps(axis)
            behind = (1,) * (x.ndim - axis - 1)
            own = sum(np.take(own, tap, axis) * weight.reshape(-1, *behind)
                      for tap, weight in zip(taps.T, weights.T, strict=True))
        made = np.rint(own) if x.dtype.kind in "iu" else own
        if x.dtype.kind in "iu":
            info = np.iinfo(x.dtype)
            made = np.clip(made, info.min, info.max)
        made = made.astype(x.dtype)
    if how.where == "tf_crop_and_resize":
        for axis in range(x.ndim):
            places = how.places(axis)
            outside = (places < 0) | (places > x.shape[axis] - 1)
            if outside.any():
                made = np.array(made)
                made[(slice(None),) * axis + (outside,)] = how.beyond
    return made


@resize.sized
def resize_size(node: Node, x: Array, *args: Array | None) -> tuple[list[int], Any]:
    return _resizing(node, x.shape, args).outs, x.dtype


@resize.symbol
def resize_symbol(b: GraphBuilder, node: Node, x: Value, *args: Value | None) -> Value | None:
    if not x.is_float or any(v is not None and v.const is None for v in args):
        return None
    how = _resizing(node, x.shape, tuple(None if v is None else v.const for v in args))
    if how.where == "tf_crop_and_resize" or 0 in how.outs:
        return None
    changed = [a for a in range(x.rank) if how.outs[a] != x.shape[a] or how.scales[a] != 1.0]
    if not changed:
        return x
    if changed[0] < x.rank - 2 or x.rank < 3:
        return None
    if how.mode == "nearest":
        return _nearest(b, x, how, changed)
    if any(how.outs[a] * x.shape[a] > _LARGEST_MATRIX for a in changed):
        return None
    return _by_products(b, node, x, how, changed)


def _nearest(b: GraphBuilder, x: Value, how: _Resizing, changed: list[int]) -> Value:
    factors = []
    for axis in range(x.rank - 2, x.rank):
        places = np.clip(how.rounded(how.places(axis)), 0, x.shape[axis] - 1).astype(int)
        factor = how.outs[axis] // x.shape[axis]
        even = np.array_equal(places, np.arange(how.outs[axis]) // max(factor, 1))
        factors.append(factor if even else 0)
    if x.rank == 4 and factors[0] == factors[1] > 1:
        return b.op("UpSampling", x, scale=factors[0], sample_type="nearest", num_args=1)
    for axis in changed:
        places = np.clip(how.rounded(how.places(axis)), 0, x.shape[axis] - 1).astype(np.int64)
        x = b.op("take", x, Value(places.shape, places.dtype, const=places), axis=axis,
                 mode="clip")
    return x


def _by_products(b: GraphBuilder, node: Node, x: Value, how: _Resizing, changed: list[int],
                 ) -> Value:
    """Each output row is a sum of rows: a product with a matrix for each axis."""
    for axis in changed:
        matrix = how.matrix(axis).astype(x.dtype)
        weight = Value(matrix.shape, x.dtype, const=matrix)
        last = axis == x.rank - 1
        rows = x if last else b.op("SwapAxis", x, dim1=x.rank - 2, dim2=x.rank - 1)
        made = b.op("FullyConnected", rows, weight, num_hidden=matrix.shape[0], no_bias=True,
                    flatten=False)
        x = made if last else b.op("SwapAxis", made, dim1=x.rank - 2, dim2=x.rank - 1)
    return x


# ---- samples at places --------------------------------------------------------------------------


@operator("AffineGrid", shape_from=(1,))
@uses_blas
def affine_grid(node: Node, theta: Array, size: Array) -> Any:
    shape, dtype = affine_grid_size(node, theta, size)
    count, space = shape[0], shape[1:-1]
    axes = len(space)
    if theta.shape != (count, axes, axes + 1):
        raise ValueError(f"theta of shape {theta.shape}, expected {(count, axes, axes + 1)}")
    corners = bool(node.attr("align_corners", 0))
    lines = []
    for length in space:
        # one place in a row that reaches from corner to corner is its beginning
        step = np.divide(2, max(length - corners, 1), dtype=dtype)
        lines.append(np.arange(length, dtype=dtype) * step - 1 + (0 if corners else step / 2))
    # the first coordinate is that along the last axis
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(space, dtype)])
    made = theta @ places.reshape(axes + 1, -1)
    return made.transpose(0, 2, 1).reshape(shape).astype(dtype, copy=False)


@affine_grid.sized
def affine_grid_size(node: Node, theta: Array, size: Array) -> tuple[tuple[int, ...], Any]:
    if size.shape not in ((4,), (5,)):
        raise ValueError(f"a size {size.tolist()}, expected 4 or 5 numbers")
    count, _, *space = map(int, size)
    return (count, *space, len(space)), theta.dtype


@operator("GridSample")
def grid_sample(node: Node, x: Array, grid: Array) -> Array:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(
        node.attr("mode", "linear"), node.attr("mode", "linear"))
    padding = node.attr("padding_mode", "zeros")
    corners = bool(node.attr("align_corners", 0))
    dims = x.shape[2:]
    n = len(dims)
    made = np.zeros((*x.shape[:2], *grid.shape[1:-1]), np.float64)
    # the grid names the last axis first
    places = [_from_grid(grid[..., n - 1 - i].astype(np.float64), dims[i], corners)
              for i in range(n)]
    if mode == "nearest":
        # a place between two is decided before it is brought inside
        return _picked(x, [np.rint(p) for p in places], padding, corners).astype(x.dtype)
    if padding != "zeros" and mode != "cubic":
        places = [_inside(p, d, padding, corners) for p, d in zip(places, dims, strict=True)]
    reach = range(2) if mode == "linear" else range(-1, 3)
    bases = [np.floor(p) for p in places]
    for offsets in np.ndindex(*(len(reach),) * n):
        taps = [base + reach[o] for base, o in zip(bases, offsets, strict=True)]
        weight = np.ones(grid.shape[:-1])
        for p, tap in zip(places, taps, strict=True):
            weight = weight * _tap(p - tap, mode)
        made += weight[:, None] * _picked(x, taps, padding, corners)
    return made.astype(x.dtype)


@grid_sample.sized
def grid_sample_size(node: Node, x: Array, grid: Array) -> tuple[tuple[int, ...], Any]:
    return (*x.shape[:2], *grid.shape[1:-1]), np.dtype(np.float64)


def _from_grid(value: Array, length: int, corners: bool) -> Array:
    return (value + 1) / 2 * (length - 1) if corners else ((value + 1) * length - 1) / 2


def _inside(place: Array, length: int, padding: str, corners: bool) -> Array:
    if padding == "border":
        return np.clip(place, 0, length - 1)
    low, high = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
    span = high - low
    if span <= 0:
        return np.zeros_like(place)
    turned = np.abs(np.mod(place - low, 2 * span))
    return np.clip(np.where(turned > span, 2 * span - turned, turned) + low, 0, length - 1)


def _tap(distance: Array, mode: str) -> Any:
    d = np.abs(distance)
    if mode == "linear":
        return np.maximum(0, 1 - d)
    a = -0.75
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _picked(x: Array, taps: list[Array], padding: str, corners: bool) -> Array:
    """The elements at whole places; zeros, or those that padding means, beyond data."""
    dims = x.shape[2:]
    valid = np.ones(taps[0].shape, bool)
    found = []
    for tap, length in zip(taps, dims, strict=True):
        if padding == "zeros":
            valid = valid & (tap >= 0) & (tap <= length - 1)
        else:
            tap = np.rint(_inside(tap, length, padding, corners))
        found.append(np.clip(np.nan_to_num(tap), 0, length - 1).astype(int))
    rows = np.arange(x.shape[0]).reshape(-1, *(1,) * (taps[0].ndim - 1))
    key = (rows, *found)
    values = np.moveaxis(x, 1, -1)[key]
    return np.moveaxis(np.where(valid[..., None], values, 0), -1, 1).astype(np.float64)
