"""Windows of pooling: where they lie, and what numpy computes over them. No operator, no oneDNN.

Arrays here are (N, C, *spatial). Sums and maxima over a window are taken axis by axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ...errors import ShapeError
from ...op.registry import Shape
from .conv_geometry import filled


class Windows(NamedTuple):
    """Kernel, stride, padding in front, and the spatial dims of data and output.

    Window i of an axis covers [i stride - pad, i stride - pad + kernel) of the data.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: tuple[int, ...]
    data: tuple[int, ...]
    out: tuple[int, ...]

    def beyond(self, axis: int) -> int:
        """How far the last window reaches beyond the data; below 0: not as far as its end."""
        return ((self.out[axis] - 1) * self.stride[axis] - self.pad[axis] + self.kernel[axis]
                - self.data[axis])

    @property
    def is_one(self) -> bool:
        """One window over all of the data, and no other that begins within it."""
        return (self.kernel == self.data and not any(self.pad)
                and all(count == 1 for count in self.out))

    @property
    def has_empty(self) -> bool:
        """Some window lies in the padding only."""
        return any(p >= k or self.beyond(axis) >= k
                   for axis, (p, k) in enumerate(zip(self.pad, self.kernel, strict=True)))


@lru_cache(maxsize=1024)
def place_windows(kernel: Shape, stride: Shape, pad: Shape, convention: str, is_global: bool,
                  spatial: Shape) -> Windows:
    """From operator parameters and the data's spatial dims, of which -1 stays unknown."""
    rank = len(spatial)
    if is_global:
        return Windows(spatial, (1,) * rank, (0,) * rank, spatial, (1,) * rank)
    if len(kernel) != rank:
        missing = "" if kernel else " (only global_pool needs none)"
        raise ShapeError(f"kernel {kernel} has {len(kernel)} number(s), expected {rank} from "
                         f"spatial dims {spatial}{missing}")
    strides = filled(stride, rank, 1, "stride", kernel)
    pads = filled(pad if any(pad) else (), rank, 0, "pad", kernel)
    if convention == "same" and (rank != 1 or any(pads)):
        raise ShapeError("pooling_convention 'same' is for one spatial axis and no padding, got "
                         f"kernel {kernel}, pad {pads}")
    # a step that leaves the data at once is as good as any longer one
    strides = tuple(s if d == -1 else min(s, d + 2 * p + k)
                    for d, k, s, p in zip(spatial, kernel, strides, pads, strict=True))
    out = tuple(_count(d, k, s, p, convention)
                for d, k, s, p in zip(spatial, kernel, strides, pads, strict=True))
    return Windows(kernel, strides, pads, spatial, out)


def _count(dim: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    """How many windows an axis has."""
    if dim == -1:
        return -1
    room = dim + 2 * pad - kernel
    if room < 0:
        raise ShapeError(f"data has {dim} + 2 * {pad} (padding) elements along a spatial axis, "
                         f"expected at least {kernel} from kernel")
    if convention == "same":
        return -(-dim // stride)
    return (-(-room // stride) if convention == "full" else room // stride) + 1


def reduce_windows(x: AnyArray, win: Windows, op: Callable[..., AnyArray],
                   fill: float) -> AnyArray:
    """`op` over each window; what lies outside of the data is `fill`."""
    for axis in range(len(win.data)):
        x = _slide(np.moveaxis(x, axis + 2, -1), win, axis, op, fill)
        x = np.moveaxis(x, -1, axis + 2)
    return x


def _slide(x: AnyArray, win: Windows, axis: int, op: Callable[..., AnyArray],
           fill: float) -> AnyArray:
    """`reduce_windows` along the last axis of x, which is spatial axis `axis`."""
    n, stride, kernel = win.out[axis], win.stride[axis], win.kernel[axis]
    if kernel == x.shape[-1] and n == 1 and not win.pad[axis] and hasattr(op, "reduce"):
        made: AnyArray = op.reduce(x, axis=-1, keepdims=True, initial=fill)
        return made.astype(x.dtype, copy=False)
    widths = (win.pad[axis], max(0, win.beyond(axis)))
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [widths], constant_values=fill) if any(
        widths) else x
    reach = (n - 1) * stride + 1
    made = padded[..., :reach:stride].copy()
    for k in range(1, kernel):
        op(made, padded[..., k:k + reach:stride], out=made)
    return made


def spread_windows(dy: AnyArray, win: Windows) -> AnyArray:
    """Adds each element of the output to all data that its window covers."""
    for axis in range(len(win.data)):
        dim, stride = win.data[axis], win.stride[axis]
        front, reach = win.pad[axis], (win.out[axis] - 1) * stride + 1
        given = np.moveaxis(dy, axis + 2, -1)
        made = np.zeros((*given.shape[:-1], front + dim + max(0, win.beyond(axis))), dy.dtype)
        for k in range(win.kernel[axis]):
            made[..., k:k + reach:stride] += given
        dy = np.moveaxis(made[..., front:front + dim], -1, axis + 2)
    return dy


def divisors(win: Windows, include_pad: bool) -> AnyArray:
    """What the sum over each window is divided by for the average; 1 for empty windows.

    With `include_pad` padding counts, of the same width at both ends; windows may reach beyond it,
    which never counts.
    """
    total = np.ones((1,) * len(win.out), np.int64)
    for axis, (dim, kernel, stride, pad) in enumerate(zip(win.data, win.kernel, win.stride,
                                                          win.pad, strict=True)):
        start = np.arange(win.out[axis]) * stride - pad
        end = np.minimum(start + kernel, dim + pad if include_pad else dim)
        count = end - (start if include_pad else np.maximum(start, 0))
        total = total * np.maximum(count, 0).reshape((-1,) + (1,) * (len(win.out) - 1 - axis))
    return np.maximum(total, 1)


def max_windows(x: AnyArray, win: Windows, empty: float = -np.inf) -> AnyArray:
    """Maxima; NaN is passed over where there is a number. Of no data it is `empty`."""
    made = reduce_windows(x, win, np.fmax, np.nan)
    if win.has_empty:
        made[..., ~_is_data(win)] = empty
    return made


def _is_data(win: Windows) -> AnyArray:
    """Which windows meet data."""
    made = np.ones(win.out, bool)
    for axis, (n, d, k, s, p) in enumerate(zip(win.out, win.data, win.kernel, win.stride, win.pad,
                                               strict=True)):
        first = np.arange(n) * s - p
        met = np.minimum(first + k, d) > np.maximum(first, 0)
        made &= met.reshape((-1,) + (1,) * (len(win.out) - 1 - axis))
    return made


def max_backward(dy: AnyArray, x: AnyArray, win: Windows) -> AnyArray:
    """Adds each gradient to the first place in its window that holds the maximum."""
    y = max_windows(x, win)
    if win.is_one:
        n, c = x.shape[:2]
        same = _are_same(x, y).reshape(n, c, prod(x.shape[2:]))
        dx = np.zeros(same.shape, dy.dtype)
        if same.shape[2]:
            first = same.argmax(axis=2)[..., None]
            np.put_along_axis(dx, first, dy.reshape(n, c, 1), axis=2)
        whole: AnyArray = dx.reshape(x.shape)
        return whole
    dx = np.zeros(_padded_shape(x.shape, win), dy.dtype)
    for met, hit in _first_places(x, y, win):
        dx[met] += dy * hit
    return _within(dx, win)


def max_taken(values: AnyArray, x: AnyArray, win: Windows) -> AnyArray:
    """The value at the place of each window to which `max_backward` would add."""
    y = max_windows(x, win)
    made = np.zeros(y.shape, values.dtype)
    given = np.pad(values, _widths(win))
    for met, hit in _first_places(x, y, win):
        np.copyto(made, given[met], where=hit)
    return made


def _are_same(x: AnyArray, y: AnyArray) -> AnyArray:
    """NaN is the same as NaN."""
    made: AnyArray = (x == y) | (np.isnan(x) & np.isnan(y))
    return made


def _first_places(x: AnyArray, y: AnyArray, win: Windows) -> Iterator[tuple[Any, AnyArray]]:
    """For each place of the kernel in order: where it lies in padded data, for all windows, and
    which of these have their maximum `y` there and not before."""
    free = np.ones(y.shape, bool)
    seen = np.pad(x, _widths(win))
    is_data = np.pad(np.ones((1, 1, *win.data), bool), _widths(win))
    for met in _places(win):
        hit = free & is_data[met] & _are_same(seen[met], y)
        np.logical_and(free, ~hit, out=free)
        yield met, hit


def _places(win: Windows) -> Iterator[Any]:
    """For each place of the kernel in order: where it lies in padded data, for all windows."""
    for place in product(*map(range, win.kernel)):
        yield (slice(None), slice(None), *(
            slice(k, k + (n - 1) * s + 1, s)
            for k, n, s in zip(place, win.out, win.stride, strict=True)))


def _widths(win: Windows) -> list[tuple[int, int]]:
    """How far windows reach beyond data of (N, C, *spatial), at both ends of each axis."""
    return [(0, 0), (0, 0), *((p, max(0, win.beyond(axis))) for axis, p in enumerate(win.pad))]


def _padded_shape(shape: Shape, win: Windows) -> Shape:
    return tuple(d + a + b for d, (a, b) in zip(shape, _widths(win), strict=True))


def _within(padded: AnyArray, win: Windows) -> AnyArray:
    """The data in padded data."""
    inner: Any = (slice(None), slice(None), *(
        slice(p, p + d) for p, d in zip(win.pad, win.data, strict=True)))
    made: AnyArray = padded[inner]
    return made


def max_backward_ties(dy: AnyArray, x: AnyArray, y: AnyArray, win: Windows) -> AnyArray:
    """Adds each gradient to all places in its window that hold the maximum `y`, a number."""
    seen = np.pad(x, _widths(win), constant_values=np.nan)
    dx = np.zeros(seen.shape, dy.dtype)
    for met in _places(win):
        dx[met] += dy * (seen[met] == y)
    return _within(dx, win)
