"""Windows sliding over spatial dimensions, shared by convolution and deconvolution.

The numpy code here is the definition of both: forward multiplies the weights by the windows of
a few rows of outputs, backward does one matrix product for each place in the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ...errors import ShapeError
from ...op.registry import Shape
from ..blas import uses_blas
from ..products import bilinear


class Geometry(NamedTuple):
    """Kernel, stride, dilation, padding at both ends and groups, one number a spatial axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pad: tuple[int, ...]
    pad_end: tuple[int, ...]
    groups: int

    def fields(self) -> dict[str, Any]:
        """Strides and padding as oneDNN wants them: its dilation counts the gaps."""
        return {"strides": self.stride, "dilates": tuple(d - 1 for d in self.dilate),
                "pad_l": self.pad, "pad_r": self.pad_end}

    def extent(self, axis: int) -> int:
        """How far the dilated kernel reaches."""
        return self.dilate[axis] * (self.kernel[axis] - 1) + 1


def filled(values: Shape, rank: int, default: int, name: str, kernel: Shape) -> Shape:
    """A parameter with one number an axis; () stands for the default everywhere."""
    if not values:
        return (default,) * rank
    if len(values) != rank:
        raise ShapeError(f"{name} {values} has {len(values)} number(s), "
                         f"expected {rank} from kernel {kernel}")
    return values


@lru_cache(maxsize=4096)
def geometry(kernel: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: int) -> Geometry:
    """From operator parameters; ShapeError when their lengths disagree."""
    rank = len(kernel)
    pads = filled(pad, rank, 0, "pad", kernel)
    return Geometry(kernel, filled(stride, rank, 1, "stride", kernel),
                    filled(dilate, rank, 1, "dilate", kernel), pads, pads, groups)


def output_dims(dims: Shape, geo: Geometry) -> Shape:
    """Spatial dims after a convolution; -1 stays unknown."""
    made = []
    for axis, dim in enumerate(dims):
        if dim == -1:
            made.append(-1)
            continue
        room = dim + geo.pad[axis] + geo.pad_end[axis] - geo.extent(axis)
        if room < 0:
            raise ShapeError(f"kernel {geo.kernel} with dilate {geo.dilate} reaches "
                             f"{geo.extent(axis)}, more than the {dim} + {geo.pad[axis]} + "
                             f"{geo.pad_end[axis]} (padding) of spatial axis {axis} of {dims}")
        made.append(room // geo.stride[axis] + 1)
    return tuple(made)


ALL = slice(None)
# bytes of what a matrix product reads beside the weights
_IN_CACHE = 1 << 19


def _places(geo: Geometry, out: Shape) -> Iterator[tuple[int, Any, Any]]:
    """For each group and place in the kernel: the group, the index of that place in the group's
    weights, and the index of its inputs in the padded data (N, groups, C, *spatial)."""
    for place in product(*map(range, geo.kernel)):
        met = tuple(slice(at * d, at * d + (n - 1) * s + 1, s)
                    for at, d, s, n in zip(place, geo.dilate, geo.stride, out, strict=True))
        for group in range(geo.groups):
            yield group, (group, ALL, ALL, *place), (ALL, group, ALL, *met)


def _padded(x: AnyArray, geo: Geometry) -> AnyArray:
    widths = [(0, 0), (0, 0), *zip(geo.pad, geo.pad_end, strict=True)]
    return np.pad(x, widths) if any(map(any, widths)) else x


@uses_blas
def conv_forward(x: AnyArray, w: AnyArray, geo: Geometry, out_dims: Shape,
                 room: AnyArray | None = None) -> AnyArray:
    """y[n, o, ...] = sum over c and kernel places of x[n, c, ...] w[o, c, place].

    `room` is memory of y's shape and dtype to put it in.
    """
    n, groups, channels = x.shape[0], geo.groups, w.shape[1]
    padded = _padded(x, geo).reshape(n, groups, channels, *_spatial(x, geo))
    terms = channels * prod(geo.kernel)
    weight = w.reshape(groups, w.shape[0] // groups, terms)
    whole = np.empty((n, w.shape[0], *out_dims), x.dtype) if room is None else room
    if not whole.size or not terms:
        whole[...] = 0
        return whole
    y = whole.reshape(n, groups, weight.shape[1], -1)

    def multiply(a: AnyArray, b: AnyArray, to: AnyArray) -> None:
        if a.dtype.kind == "f":
            np.matmul(a, b, out=to)
        else:
            to[...] = bilinear(np.matmul, a, b, terms)
    if set(geo.kernel) == set(geo.stride) == {1}:
        multiply(weight, padded.reshape(n, groups, channels, -1), y)
        return whole
    # a few rows at a time, so that their windows stay in the caches
    row = terms * prod(out_dims[1:]) * x.itemsize
    rows = min(out_dims[0], max(1, _IN_CACHE // row))
    met = np.empty((channels, *geo.kernel, rows, *out_dims[1:]), x.dtype)
    for sample, group, begin in product(range(n), range(groups), range(0, out_dims[0], rows)):
        count = min(rows, out_dims[0] - begin)
        part = met if count == rows else np.empty((*met.shape[:-len(out_dims)], count,
                                                   *out_dims[1:]), x.dtype)
        for place in product(*map(range, geo.kernel)):
            to: Any = (ALL, *place)
            at: Any = (sample, group, ALL, *_met(place, geo, begin, (count, *out_dims[1:])))
            part[to] = padded[at]
        begin *= prod(out_dims[1:])
        seen = part.reshape(terms, -1)
        multiply(weight[group], seen, y[sample, group, :, begin:begin + seen.shape[1]])
    return whole


def _met(place: Sequence[int], geo: Geometry, begin: int, out: Shape) -> tuple[slice, ...]:
    """The inputs of a place in the kernel, for outputs from row `begin` on; the data is padded."""
    starts = (begin, *[0] * (len(out) - 1))
    return tuple(slice(first := at * d + start * s, first + (count - 1) * s + 1, s)
                 for at, d, s, count, start in
                 zip(place, geo.dilate, geo.stride, out, starts, strict=True))


def conv_backward_data(dy: AnyArray, w: AnyArray, geo: Geometry, x_shape: Shape) -> AnyArray:
    """The gradient of conv_forward for x; also what a deconvolution computes."""
    n, groups, out_dims = x_shape[0], geo.groups, dy.shape[2:]
    spatial = tuple(d + a + b for d, a, b in zip(x_shape[2:], geo.pad, geo.pad_end, strict=True))
    weight = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    grads = dy.reshape(n, groups, dy.shape[1] // groups, *out_dims)
    dx = np.zeros((n, groups, x_shape[1] // groups, *spatial), dy.dtype)
    for group, place, met in _places(geo, out_dims):
        part = _contracted(weight[place], grads[:, group], (0,), (1,))
        dx[met] += np.moveaxis(part, 0, 1)
    inner: Any = (ALL, ALL, *(slice(a, a + d)
                              for d, a in zip(x_shape[2:], geo.pad, strict=True)))
    return np.ascontiguousarray(dx.reshape(n, x_shape[1], *spatial)[inner])


def conv_backward_weights(x: AnyArray, dy: AnyArray, geo: Geometry, w_shape: Shape) -> AnyArray:
    """The gradient of conv_forward for w."""
    n, groups, out_dims = x.shape[0], geo.groups, dy.shape[2:]
    padded = _padded(x, geo).reshape(n, groups, x.shape[1] // groups, *_spatial(x, geo))
    grads = dy.reshape(n, groups, dy.shape[1] // groups, *out_dims)
    dw = np.zeros((groups, w_shape[0] // groups, *w_shape[1:]), x.dtype)
    summed = (0, *range(2, 2 + len(out_dims)))
    for group, place, met in _places(geo, out_dims):
        dw[place] = _contracted(grads[:, group], padded[met], summed, summed)
    return dw.reshape(w_shape)


def _contracted(a: AnyArray, b: AnyArray, axes: Sequence[int], others: Sequence[int]) -> AnyArray:
    """np.tensordot, of integers by `bilinear`."""
    terms = prod(a.shape[axis] for axis in axes)
    return bilinear(partial(np.tensordot, axes=(axes, others)), a, b, terms)


def _spatial(x: AnyArray, geo: Geometry) -> tuple[int, ...]:
    return tuple(d + a + b for d, a, b in zip(x.shape[2:], geo.pad, geo.pad_end, strict=True))
