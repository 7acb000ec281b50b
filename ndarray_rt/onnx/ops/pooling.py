"""Pooling over 1 to 3 axes, and what turns it around."""

from __future__ import annotations

from itertools import product as places
from math import prod
from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..steps import BYTES
from ..table import operator
from ..values import Value, constant, need_bytes
from .padding import padded
from .reduce import mean
from .windows import Window, cut_of, patches_of, places_of


def _kernel(node: Node) -> tuple[int, ...]:
    return tuple(node.attr("kernel_shape"))


def _is_plain(window: Window, x: Value) -> bool:
    """The engine's Pooling has such windows: in the last one begins no padding of its own."""
    return x.is_float and 3 <= x.rank <= 5 and set(window.dilations) <= {1}


@operator("AveragePool")
def average_pool(node: Node, x: Array) -> Any:
    window = Window(node, x.shape[2:], _kernel(node))
    n = len(window.outs)
    kernel = tuple(range(2 + n, 2 + 2 * n))
    total = patches_of(x, window, 0).sum(kernel, dtype=x.dtype)
    ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if node.attr("count_include_pad", 0):
        ones = np.pad(ones, [(0, 0), (0, 0), *window.pads], constant_values=1)
        window.pads = [(0, 0)] * n
    return (total / patches_of(ones, window, 0).sum(kernel, dtype=x.dtype)).astype(x.dtype)


@average_pool.symbol
def average_pool_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    window = Window(node, x.shape[2:], _kernel(node))
    if not _is_plain(window, x):
        return None
    counts_pads = bool(node.attr("count_include_pad", 0))
    return _pooled(b, x, window, "avg", counts_pads)


def _pooled(b: GraphBuilder, x: Value, window: Window, kind: str, counts_pads: bool,
            ) -> Value | None:
    dims = x.shape[2:]
    starts = tuple(start for start, _ in window.pads)
    if any(p >= k for p, k in zip(starts, window.kernel, strict=True)):
        return None
    if kind == "max" or not counts_pads:
        convention = _convention(window, dims)
        if convention is not None:
            # only what windows hold of data counts, wherever padding ends
            return b.op("Pooling", x, kernel=window.kernel, stride=window.strides, pad=starts,
                        pool_type=kind, pooling_convention=convention,
                        **({"count_include_pad": False} if kind == "avg" else {}))
    exact = tuple((d + sum(p) - e) // s + 1 for d, p, e, s in zip(
        dims, window.pads, window.extents, window.strides, strict=True))
    if exact != window.outs:
        return None
    pads, data = window.same_pads(dims), x
    if pads is None:
        if kind == "avg" and not counts_pads:
            return _averaged(b, x, window)
        fill = -float("inf") if kind == "max" else 0.0
        widened = padded(b, x, [(0, 0), (0, 0), *window.pads], fill=fill)
        if widened is None:
            return None
        pads, data = (0,) * len(window.pads), widened
    params: dict[str, Any] = {"count_include_pad": counts_pads} if kind == "avg" else {}
    return b.op("Pooling", data, kernel=window.kernel, stride=window.strides, pad=pads,
                pool_type=kind, **params)


def _convention(window: Window, dims: tuple[int, ...]) -> str | None:
    """How the engine's Pooling counts the windows that begin where these do; None where it has
    others, or the last one holds no data."""
    for name, ceil in (("valid", False), ("full", True)):
        if all((room := d + 2 * start - k) >= 0 and start + d > (out - 1) * stride
               and (-(-room // stride) if ceil else room // stride) + 1 == out
               for d, (start, _), k, stride, out in zip(
                   dims, window.pads, window.kernel, window.strides, window.outs, strict=True)):
            return name
    return None


def _averaged(b: GraphBuilder, x: Value, window: Window) -> Value | None:
    """Means of what windows hold of data, where pads differ at both ends: means with the padding,
    times what each window has more of places than of data."""
    data = padded(b, x, [(0, 0), (0, 0), *window.pads])
    if data is None:
        return None
    n = len(window.outs)
    counts = patches_of(np.ones((1, 1, *x.shape[2:]), x.dtype), window, 0).sum(
        tuple(range(2 + n, 2 + 2 * n)))
    factor = (prod(window.kernel) / counts).astype(x.dtype)
    made = b.op("Pooling", data, kernel=window.kernel, stride=window.strides, pad=(0,) * n,
                pool_type="avg", count_include_pad=True)
    return b.op("broadcast_mul", made, Value(factor.shape, x.dtype, const=factor))


@operator("MaxPool")
def max_pool(node: Node, x: Array) -> tuple[Array, ...]:
    window = Window(node, x.shape[2:], _kernel(node))
    n = len(window.outs)
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    places_each = prod(window.kernel)
    need_bytes([*x.shape[:2], *window.outs, places_each], x.dtype)
    patches = patches_of(x, window, least).reshape(*x.shape[:2], *window.outs, places_each)
    if len(node.outputs) < 2:
        return (patches.max(-1),)
    dims = x.shape[2:]
    order = np.arange(prod(dims)).reshape(dims, order="F" if node.attr("storage_order", 0) else "C")
    if n == 1:
        order = np.arange(prod(dims)).reshape(dims)
    where = patches_of(order[None, None], window, -1).reshape(1, 1, *window.outs, -1)
    best = patches.argmax(-1)[..., None]
    found = np.take_along_axis(np.broadcast_to(where, patches.shape), best, -1)[..., 0]
    first = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1,) * n) * prod(dims)
    return patches.max(-1), (found + first).astype(np.int64)


@max_pool.symbol
def max_pool_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    window = Window(node, x.shape[2:], _kernel(node))
    if sum(map(bool, node.outputs)) > 1:
        return None
    if x.dtype in BYTES:
        return whole_pooled(b, x, window, "max", False)
    return _pooled(b, x, window, "max", False) if _is_plain(window, x) else None


def window_of(node: Node, x: Value) -> Window:
    """The windows of a pooling; a global one has a single one."""
    is_global = node.op.startswith("Global")
    return Window(node, x.shape[2:], x.shape[2:] if is_global else _kernel(node))


def whole_pooled(b: GraphBuilder, x: Value, window: Window, kind: str, counts_pads: bool,
                 ) -> Value | None:
    """Of numbers of 8 bits, whatever they stand for: padding that counts is 0."""
    dims = x.shape[2:]
    starts = tuple(start for start, _ in window.pads)
    convention = _convention(window, dims)
    if convention is None or set(window.dilations) != {1} or not 3 <= x.rank <= 5 or any(
            p < 0 or p >= k for p, k in zip(starts, window.kernel, strict=True)) or (
            counts_pads and (convention != "valid" or window.same_pads(dims) != starts)):
        return None
    end = constant(np.ones(1, np.float32))
    more = {"count_include_pad": counts_pads} if kind == "avg" else {}
    return b.op("_contrib_quantized_pooling", x, end, end, kernel=window.kernel,
                stride=window.strides, pad=starts, pool_type=kind,
                pooling_convention=convention, **more)


@operator("LpPool")
def lp_pool(node: Node, x: Array) -> Any:
    window = Window(node, x.shape[2:], _kernel(node))
    n = len(window.outs)
    p = float(node.attr("p", 2))
    total = (np.abs(patches_of(x, window, 0)) ** p).sum(tuple(range(2 + n, 2 + 2 * n)))
    return (total ** (1 / p)).astype(x.dtype)


def pool_size(node: Node, x: Array) -> tuple[list[int], Any]:
    has_places = len(node.outputs) > 1
    return [*x.shape[:2], *Window(node, x.shape[2:], _kernel(node)).outs], (
        np.dtype(np.int64) if has_places else x.dtype)


average_pool.sized(pool_size)
max_pool.sized(pool_size)
lp_pool.sized(pool_size)


def _unpooled(node: Node, x: Array) -> tuple[int, ...]:
    """The shape that the pooling had data of, as its window tells."""
    n = x.ndim - 2
    strides = node.attr("strides") or [1] * n
    pads = node.attr("pads") or [0] * (2 * n)
    return (*x.shape[:2], *((d - 1) * s + k - pads[i] - pads[n + i] for i, (d, s, k) in enumerate(
        zip(x.shape[2:], strides, _kernel(node), strict=True))))


@operator("MaxUnpool", shape_from=(2,))
def max_unpool(node: Node, x: Array, indices: Array, shape: Array | None = None) -> Array:
    own = _unpooled(node, x)
    need_bytes(own, x.dtype)
    target = own if shape is None else tuple(int(d) for d in shape)
    made: Array = np.zeros(prod(own), x.dtype)
    made[indices.reshape(-1)] = x.reshape(-1)
    made = made.reshape(own)
    if target == own:
        return made
    whole = np.zeros(target, x.dtype)
    cut = tuple(slice(min(a, b)) for a, b in zip(own, target, strict=True))
    whole[cut] = made[cut]
    return whole


@max_unpool.sized
def max_unpool_size(node: Node, x: Array, indices: Array, shape: Array | None = None,
                    ) -> tuple[tuple[int, ...], Any]:
    return _unpooled(node, x) if shape is None else tuple(int(d) for d in shape), x.dtype


def _add_global(name: str, kind: str) -> None:
    @operator(name)
    def compute(node: Node, x: Array) -> Any:
        axes = tuple(range(2, x.ndim))
        if kind == "max":
            made: Array = x.max(axes, keepdims=True)
            return made
        if kind == "avg":
            return mean(x, axes, True)
        p = float(node.attr("p", 2))
        return ((np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)).astype(x.dtype)

    if kind == "lp":
        return

    @compute.symbol
    def symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
        if not x.is_float or not 3 <= x.rank <= 5:
            return None
        return b.op("Pooling", x, global_pool=True, pool_type=kind)


for _name, _kind in (("GlobalAveragePool", "avg"), ("GlobalMaxPool", "max"),
                     ("GlobalLpPool", "lp")):
    _add_global(_name, _kind)


@operator("Col2Im", shape_from=(1, 2))
def col2im(node: Node, x: Array, image: Array, block: Array) -> Any:
    dims, kernel = tuple(map(int, image)), tuple(map(int, block))
    window = Window(node, dims, kernel)
    channels = x.shape[1] // prod(kernel)
    columns = x.reshape(x.shape[0], channels, *kernel, *window.outs)
    whole = (x.shape[0], channels, *(d + sum(p) for d, p in zip(dims, window.pads, strict=True)))
    need_bytes(whole, x.dtype)
    made = np.zeros(whole, x.dtype)
    for place in places(*map(range, kernel)):
        made[cut_of(slice(None), places_of(place, window.dilations, window.outs,
                                          window.strides))] += columns[cut_of(slice(None), place)]
    return made[cut_of(slice(None), [slice(a, a + d) for (a, _), d in zip(
        window.pads, dims, strict=True)])]
