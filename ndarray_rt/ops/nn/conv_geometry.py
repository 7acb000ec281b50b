"""Windows sliding over spatial dimensions, shared by convolution and deconvolution.

The numpy loops here are the definition of both: one matrix product for each place in the kernel.
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


def _places(geo: Geometry, out: Shape) -> Iterator[tuple[int, Any, Any]]:
    """For each group and place in the kernel: the group, the index of that place in the group's
    weights, and the index of what it meets in the padded input (N, groups, C, *spatial)."""
    for place in product(*map(range, geo.kernel)):
        met = tuple(slice(at * d, at * d + (n - 1) * s + 1, s)
                    for at, d, s, n in zip(place, geo.dilate, geo.stride, out, strict=True))
        for group in range(geo.groups):
            yield group, (group, ALL, ALL, *place), (ALL, group, ALL, *met)


def _padded(x: AnyArray, geo: Geometry) -> AnyArray:
    widths = [(0, 0), (0, 0), *zip(geo.pad, geo.pad_end, strict=True)]
    return np.pad(x, widths) if any(map(any, widths)) else x


def conv_forward(x: AnyArray, w: AnyArray, geo: Geometry, out_dims: Shape) -> AnyArray:
    """y[n, o, ...] = sum over c and kernel places of x[n, c, ...] w[o, c, place]."""
    n, groups = x.shape[0], geo.groups
    padded = _padded(x, geo).reshape(n, groups, x.shape[1] // groups, *_spatial(x, geo))
    weight = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = np.zeros((groups, weight.shape[1], n, *out_dims), x.dtype)
    for group, place, met in _places(geo, out_dims):
        y[group] += _contracted(weight[place], padded[met], (1,), (1,))
    return np.ascontiguousarray(np.moveaxis(
        y.reshape(w.shape[0], n, *out_dims), 0, 1))


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
