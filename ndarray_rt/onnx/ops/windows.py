"""Windows over 1 to 3 axes, and convolutions with them."""

from __future__ import annotations

from itertools import product as places
from typing import Any

import numpy as np

from ...ops.blas import uses_blas
from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import operator
from ..values import Value, need_bytes
from .padding import padded

Pads = list[tuple[int, int]]


class Window:
    """Kernel, strides, dilations and pads of a node for data of certain spatial dims."""

    def __init__(self, node: Node, dims: tuple[int, ...], kernel: tuple[int, ...]) -> None:
        n = len(dims)
        self.kernel = kernel
        self.strides = tuple(node.attr("strides") or (1,) * n)
        self.dilations = tuple(node.attr("dilations") or (1,) * n)
        if not len(kernel) == len(self.strides) == len(self.dilations) == n:
            raise ValueError(f"a window {kernel} over {n} axes")
        _check_steps(kernel, self.strides, self.dilations)
        self.extents = tuple((k - 1) * d + 1 for k, d in zip(kernel, self.dilations, strict=True))
        self.ceil = bool(node.attr("ceil_mode", 0))
        auto = node.attr("auto_pad", "NOTSET")
        given = node.attr("pads") or [0] * (2 * n)
        if auto == "VALID":
            given = [0] * (2 * n)
        self.pads: Pads = list(zip(given[:n], given[n:], strict=True))
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            self.pads = [_same(d, s, e, auto) for d, s, e in zip(
                dims, self.strides, self.extents, strict=True)]
        self.outs = tuple(self._out(*each) for each in zip(
            dims, self.pads, self.strides, self.extents, strict=True))
        if min(self.outs, default=1) < 1:
            raise ValueError(f"a window {kernel} over {dims} with pads {self.pads}")

    def _out(self, dim: int, pad: tuple[int, int], stride: int, extent: int) -> int:
        room = dim + sum(pad) - extent
        if not self.ceil:
            return room // stride + 1
        count = -(-room // stride) + 1
        # the last window begins within data or the padding before it
        return count - 1 if (count - 1) * stride >= dim + pad[0] else count

    def same_pads(self, dims: tuple[int, ...]) -> tuple[int, ...] | None:
        """Pads that are the same at both ends and make the same windows, None where none do: a
        pad at the end that no window reaches counts for nothing."""
        made = []
        for d, (a, b), out, stride, extent in zip(dims, self.pads, self.outs, self.strides,
                                                  self.extents, strict=True):
            reached = (out - 1) * stride + extent - d - a
            if a != b and (max(reached, 0) > a or (d + 2 * a - extent) // stride + 1 != out):
                return None
            made.append(a)
        return tuple(made)


def _check_steps(*steps: tuple[int, ...]) -> None:
    if any(step < 1 for each in steps for step in each):
        raise ValueError(f"a window with kernel, strides and dilations {steps}: each is at least 1")


def _same(dim: int, stride: int, extent: int, auto: str) -> tuple[int, int]:
    total = max((-(-dim // stride) - 1) * stride + extent - dim, 0)
    small = total // 2
    return (small, total - small) if auto == "SAME_UPPER" else (total - small, small)


def patches_of(x: Array, window: Window, fill: Any) -> Array:
    """(N, C, *outs, *kernel), a view of padded data."""
    more = [(0, 0), (0, 0)]
    for d, (a, b), out, stride, extent in zip(x.shape[2:], window.pads, window.outs,
                                              window.strides, window.extents, strict=True):
        more.append((a, max(b, (out - 1) * stride + extent - d - a)))
    need_bytes([d + a + b for d, (a, b) in zip(x.shape, more, strict=True)], x.dtype)
    x = np.pad(x, more, constant_values=fill)
    shape = (*x.shape[:2], *window.outs, *window.kernel)
    steps = x.strides[2:]
    strides = (*x.strides[:2], *(s * t for s, t in zip(steps, window.strides, strict=True)),
               *(s * t for s, t in zip(steps, window.dilations, strict=True)))
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


# ---- convolution --------------------------------------------------------------------------------


def _check_groups(group: int, channels: int, wanted: int, filters: int) -> None:
    if group < 1 or channels != wanted or filters % group:
        raise ValueError(f"{channels} channels in {group} groups for a weight of {wanted} and "
                         f"{filters} filters")


def window_size(node: Node, x: Array, w: Array) -> tuple[list[int], Any]:
    return [x.shape[0], w.shape[0], *Window(node, x.shape[2:], w.shape[2:]).outs], x.dtype


@uses_blas
def convolve(node: Node, x: Array, w: Array, dtype: Any = None) -> Array:
    """Convolution in NumPy, in the dtype that products have."""
    group = int(node.attr("group", 1))
    _check_groups(group, x.shape[1], w.shape[1] * group, w.shape[0])
    window = Window(node, x.shape[2:], w.shape[2:])
    n = len(window.outs)
    need_bytes([x.shape[0], w.shape[1], *window.outs, *window.kernel], x.dtype)
    patches = patches_of(x, window, 0)
    kernel = tuple(range(2 + n, 2 + 2 * n))
    parts = []
    for g in range(group):
        c, m = x.shape[1] // group, w.shape[0] // group
        part = np.tensordot(patches[:, g * c:(g + 1) * c], w[g * m:(g + 1) * m],
                            ((1, *kernel), (1, *range(2, 2 + n))))
        parts.append(np.moveaxis(part, -1, 1))
    return np.concatenate(parts, 1).astype(dtype or x.dtype)


@operator("Conv")
def conv(node: Node, x: Array, w: Array, bias: Array | None = None) -> Array:
    made = convolve(node, x, w)
    return made if bias is None else made + bias.reshape((-1,) + (1,) * (x.ndim - 2))


@conv.sized
def conv_size(node: Node, x: Array, w: Array, bias: Array | None = None) -> tuple[list[int], Any]:
    if bias is not None and bias.size != w.shape[0]:
        raise ValueError(f"{bias.size} biases for {w.shape[0]} filters")
    return window_size(node, x, w)


@conv.symbol
def conv_symbol(b: GraphBuilder, node: Node, x: Value, w: Value, bias: Value | None = None,
                ) -> Value | None:
    if not x.is_float or x.dtype != w.dtype or not 3 <= x.rank <= 5:
        return None
    window = Window(node, x.shape[2:], w.shape[2:])
    if x.rank == 4 and window.kernel[0] > 1 and x.shape[3] == w.shape[3] == window.outs[1] == 1:
        # oneDNN's kernels go along the last axis: over one of length 1 they take ten times as long
        return _conv_of_columns(b, node, x, w, bias, window)
    pads = window.same_pads(x.shape[2:])
    data: Value | None = x
    if pads is None or any(p < 0 for p in pads):
        data = padded(b, x, [(0, 0), (0, 0), *window.pads])
        pads = (0,) * len(window.pads)
    if data is None:
        return None
    given = [data, w] if bias is None else [data, w, bias]
    return b.op("Convolution", *given, kernel=window.kernel, stride=window.strides,
                dilate=window.dilations, pad=pads, num_filter=w.shape[0],
                num_group=int(node.attr("group", 1)), no_bias=bias is None)


def _conv_of_columns(b: GraphBuilder, node: Node, x: Value, w: Value, bias: Value | None,
                     window: Window) -> Value | None:
    """A convolution of images of one column, as one of images of one row."""
    n, c, rows, _ = x.shape
    pads = window.same_pads(x.shape[2:])
    data: Value | None = b.reshaped(x, (n, c, 1, rows))
    if pads is None and data is not None:
        data = padded(b, data, [(0, 0), (0, 0), (0, 0), window.pads[0]])
    if data is None or window.pads[1] != (0, 0):
        return None
    weight = b.reshaped(w, (*w.shape[:2], 1, w.shape[2]))
    given = [data, weight] if bias is None else [data, weight, bias]
    made = b.op("Convolution", *given, kernel=(1, window.kernel[0]),
                stride=(1, window.strides[0]), dilate=(1, window.dilations[0]),
                pad=(0, 0 if pads is None else pads[0]), num_filter=w.shape[0],
                num_group=int(node.attr("group", 1)), no_bias=bias is None)
    return b.reshaped(made, (n, w.shape[0], window.outs[0], 1))


class Transposed:
    """The window of a ConvTranspose: pads that are cut off, and what the output has more."""

    def __init__(self, node: Node, dims: tuple[int, ...], kernel: tuple[int, ...]) -> None:
        n = len(dims)
        self.kernel = kernel
        self.strides = tuple(node.attr("strides") or (1,) * n)
        self.dilations = tuple(node.attr("dilations") or (1,) * n)
        self.more = tuple(node.attr("output_padding") or (0,) * n)
        _check_steps(kernel, self.strides, self.dilations)
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilations, strict=True)]
        full = [(d - 1) * s + e for d, s, e in zip(dims, self.strides, extents, strict=True)]
        auto = node.attr("auto_pad", "NOTSET")
        wanted = node.attr("output_shape")
        if wanted is not None or auto in ("SAME_UPPER", "SAME_LOWER"):
            shape = list(wanted)[-n:] if wanted is not None else [
                d * s for d, s in zip(dims, self.strides, strict=True)]
            total = [f + m - s for f, m, s in zip(full, self.more, shape, strict=True)]
            if auto == "SAME_UPPER":
                self.pads = [(t // 2, t - t // 2) for t in total]
            else:
                self.pads = [(t - t // 2, t // 2) for t in total]
        else:
            given = node.attr("pads") if auto != "VALID" else None
            given = given or [0] * (2 * n)
            self.pads = list(zip(given[:n], given[n:], strict=True))
        self.full = full
        self.outs = tuple(f + m - a - b for f, m, (a, b) in zip(
            full, self.more, self.pads, strict=True))


def cut_of(channels: slice, spatial: Any) -> tuple[Any, ...]:
    return (slice(None), channels, *spatial)


def places_of(place: Any, dilations: Any, counts: Any, strides: Any) -> list[slice]:
    """Where one element of the window lies, for each place that the window takes."""
    return [slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in zip(
        place, dilations, counts, strides, strict=True)]


@operator("ConvTranspose")
@uses_blas
def conv_transpose(node: Node, x: Array, w: Array, bias: Array | None = None) -> Any:
    group = int(node.attr("group", 1))
    t = Transposed(node, x.shape[2:], w.shape[2:])
    _check_groups(group, x.shape[1], w.shape[0], w.shape[0])
    c, m = x.shape[1] // group, w.shape[1]
    whole = (x.shape[0], group * m, *(max(f + e, a + o) for f, e, (a, _), o in zip(
        t.full, t.more, t.pads, t.outs, strict=True)))
    need_bytes(whole, x.dtype)
    made = np.zeros(whole, x.dtype)
    for g in range(group):
        for place in places(*map(range, t.kernel)):
            weight = np.moveaxis(w[g * c:(g + 1) * c], 1, -1)
            for k in place:
                weight = weight[:, k]
            part = np.moveaxis(np.tensordot(x[:, g * c:(g + 1) * c], weight, ((1,), (0,))), -1, 1)
            made[cut_of(slice(g * m, (g + 1) * m), places_of(
                place, t.dilations, x.shape[2:], t.strides))] += part
    made = made[cut_of(slice(None), [slice(max(a, 0), max(a, 0) + o) for (a, _), o in zip(
        t.pads, t.outs, strict=True)])]
    return made if bias is None else made + bias.reshape((-1,) + (1,) * (x.ndim - 2))


@conv_transpose.sized
def conv_transpose_size(node: Node, x: Array, w: Array, bias: Array | None = None,
                        ) -> tuple[list[int], Any]:
    filters = int(node.attr("group", 1)) * w.shape[1]
    if bias is not None and bias.size != filters:
        raise ValueError(f"{bias.size} biases for {filters} filters")
    return [x.shape[0], filters, *Transposed(node, x.shape[2:], w.shape[2:]).outs], x.dtype


@conv_transpose.symbol
def conv_transpose_symbol(b: GraphBuilder, node: Node, x: Value, w: Value,
                          bias: Value | None = None) -> Value | None:
    if not x.is_float or x.dtype != w.dtype or not 3 <= x.rank <= 5:
        return None
    t = Transposed(node, x.shape[2:], w.shape[2:])
    if any(a < 0 or b < a - m or b < 0 for (a, b), m in zip(t.pads, t.more, strict=True)):
        return None
    # what is cut off less at the end than at the beginning counts as more there
    pads = tuple(a for a, _ in t.pads)
    more = tuple(m + a - c for m, (a, c) in zip(t.more, t.pads, strict=True))
    if any(not 0 <= m < s for m, s in zip(more, t.strides, strict=True)):
        return None
    group = int(node.attr("group", 1))
    given = [x, w] if bias is None else [x, w, bias]
    return b.op("Deconvolution", *given, kernel=t.kernel, stride=t.strides, dilate=t.dilations,
                pad=pads, adj=more, num_filter=w.shape[1] * group, num_group=group,
                no_bias=bias is None)
