"""Gathering, scattering, searching and sorting."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import axis_of, operator
from ..values import Value, in_graphs
from .structure import sliced


def checked(indices: Array, length: int) -> Array:
    """Indices counted from the front; IndexError for those beyond the axis."""
    if indices.size and not (-length <= indices.min() and indices.max() < length):
        wrong = indices[(indices < -length) | (indices >= length)].reshape(-1)[0]
        raise IndexError(f"index {wrong} of an axis of length {length}")
    return np.where(indices < 0, indices + length, indices)


@operator("Gather")
def gather(node: Node, x: Array, indices: Array) -> Array:
    axis = axis_of(node, x.ndim, 0)
    return np.take(x, checked(indices, x.shape[axis]), axis)


@gather.sized
def gather_size(node: Node, x: Array, indices: Array) -> tuple[tuple[int, ...], Any]:
    axis = axis_of(node, x.ndim, 0)
    return x.shape[:axis] + indices.shape + x.shape[axis + 1:], x.dtype


@gather.symbol
def gather_symbol(b: GraphBuilder, node: Node, x: Value, indices: Value) -> Value | None:
    if indices.const is None or not in_graphs(x.dtype) or not indices.size:
        return None
    axis = axis_of(node, x.rank, 0)
    found = checked(indices.const, x.shape[axis]).reshape(-1)
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1:]
    step = int(found[1] - found[0]) if found.size > 1 else 1
    if step and np.array_equal(found, found[0] + step * np.arange(found.size)):
        cut = [slice(None)] * x.rank
        last = int(found[-1]) + (1 if step > 0 else -1)
        cut[axis] = slice(int(found[0]), None if last < 0 else last, step)
        part = sliced(b, x, cut)
        return None if part is None else b.reshaped(part, shape)
    taken = b.op("take", x, Value(found.shape, np.dtype(np.int64),
                                  const=found.astype(np.int64)), axis=axis, mode="clip")
    return b.reshaped(taken, shape)


@operator("GatherElements")
def gather_elements(node: Node, x: Array, indices: Array) -> Any:
    axis = axis_of(node, x.ndim, 0)
    found = checked(indices, x.shape[axis])
    places: list[Any] = list(np.indices(indices.shape, sparse=True))
    places[axis] = found
    return x[tuple(places)]


@gather_elements.sized
def gather_elements_size(node: Node, x: Array, indices: Array) -> tuple[tuple[int, ...], Any]:
    return indices.shape, x.dtype


@operator("GatherND")
def gather_nd(node: Node, x: Array, indices: Array) -> Any:
    batch = int(node.attr("batch_dims", 0))
    depth = indices.shape[-1]
    lead = x.shape[:batch]
    flat = x.reshape(prod(lead), *x.shape[batch:])
    places = indices.reshape(flat.shape[0], prod(indices.shape[batch:-1]), depth)
    rows = np.arange(flat.shape[0])[:, None]
    found = tuple(checked(places[..., i], x.shape[batch + i]) for i in range(depth))
    key = (rows, *found)
    made = flat[key]
    return made.reshape(lead + indices.shape[batch:-1] + x.shape[batch + depth:])


@gather_nd.sized
def gather_nd_size(node: Node, x: Array, indices: Array) -> tuple[tuple[int, ...], Any]:
    batch = int(node.attr("batch_dims", 0))
    return indices.shape[:-1] + x.shape[batch + indices.shape[-1]:], x.dtype


# ---- scattering ---------------------------------------------------------------------------------


def _put(made: Array, places: Any, updates: Array, how: str) -> None:
    if how == "none":
        made[places] = updates
        return
    function = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[how]
    function.at(made, places, updates)


@operator("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Array, indices: Array, updates: Array) -> Array:
    axis = axis_of(node, x.ndim, 0)
    places: list[Any] = list(np.indices(indices.shape, sparse=True))
    places[axis] = checked(indices, x.shape[axis])
    made = np.array(x)
    _put(made, tuple(np.broadcast_arrays(*places)), updates, node.attr("reduction", "none"))
    return made


@operator("ScatterND")
def scatter_nd(node: Node, x: Array, indices: Array, updates: Array) -> Array:
    depth = indices.shape[-1]
    places = tuple(checked(indices[..., i], x.shape[i]) for i in range(depth))
    made = np.array(x)
    _put(made, places, updates, node.attr("reduction", "none"))
    return made


@operator("TensorScatter")
def tensor_scatter(node: Node, past: Array, update: Array, starts: Array | None = None) -> Array:
    axis = int(node.attr("axis", -2)) % past.ndim
    length, count = past.shape[axis], update.shape[axis]
    made = np.array(past)
    view, source = np.moveaxis(made, axis, 1), np.moveaxis(update, axis, 1)
    for i in range(past.shape[0]):
        first = 0 if starts is None else int(starts[i])
        places = np.arange(first, first + count)
        if node.attr("mode", "linear") == "circular":
            places = places % length
        elif first < 0 or first + count > length:
            raise IndexError(f"rows {first} to {first + count} of {length}")
        view[i, places] = source[i]
    return made


# ---- searching ----------------------------------------------------------------------------------


@operator("NonZero", data_dependent=True)
def non_zero(node: Node, x: Array) -> Array:
    if x.ndim == 0:
        return np.zeros((0, int(bool(x))), np.int64)
    return np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1)


@non_zero.sized
def non_zero_size(node: Node, x: Array) -> tuple[list[int], Any]:
    return [x.ndim, int(np.count_nonzero(x))], np.dtype(np.int64)


@operator("Compress", data_dependent=True)
def compress(node: Node, x: Array, condition: Array) -> Array:
    axis = node.attr("axis")
    return np.compress(condition, x, None if axis is None else int(axis))


@operator("Unique", data_dependent=True)
def unique(node: Node, x: Array) -> tuple[Array, ...]:
    axis = node.attr("axis")
    along = None if axis is None else int(axis)
    values, first, inverse, counts = np.unique(x, True, True, True, axis=along)
    inverse = inverse.reshape(-1)
    if not node.attr("sorted", 1):
        order = np.argsort(first, kind="stable")
        values = np.take(values, order, 0 if along is None else along)
        first, counts = first[order], counts[order]
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        inverse = places[inverse]
    return values, *(v.astype(np.int64) for v in (first, inverse, counts))


def _extreme(node: Node, x: Array, function: Any) -> Array:
    axis = axis_of(node, x.ndim, 0)
    if node.attr("select_last_index", 0):
        made = x.shape[axis] - 1 - function(np.flip(x, axis), axis)
    else:
        made = function(x, axis)
    made = np.asarray(made, np.int64)
    return np.expand_dims(made, axis) if node.attr("keepdims", 1) else made


@operator("ArgMax")
def argmax(node: Node, x: Array) -> Array:
    return _extreme(node, x, np.argmax)


@operator("ArgMin")
def argmin(node: Node, x: Array) -> Array:
    return _extreme(node, x, np.argmin)


@operator("TopK", shape_from=(1,))
def topk(node: Node, x: Array, k: Array | None = None) -> tuple[Array, Array]:
    axis = axis_of(node, x.ndim, -1)
    count = int(node.attr("k") if k is None else k.reshape(-1)[0])
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(f"k={count} of {x.shape[axis]}")
    if node.attr("largest", 1):
        # of equal elements the first one comes first
        order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - order
    else:
        order = np.argsort(x, axis, kind="stable")
    order = np.take(order, np.arange(count), axis)
    return np.take_along_axis(x, order, axis), order.astype(np.int64)


@operator("OneHot", shape_from=(1,))
def one_hot(node: Node, indices: Array, depth: Array, values: Array) -> Any:
    count = int(depth.reshape(-1)[0])
    axis = int(node.attr("axis", -1)) % (indices.ndim + 1)
    places = indices.astype(np.int64)
    places = np.where(places < 0, places + count, places)
    hot = np.expand_dims(places, axis) == np.arange(count).reshape(
        (-1,) + (1,) * (indices.ndim - axis))
    return np.where(hot, values[1], values[0]).astype(values.dtype)


@one_hot.sized
def one_hot_size(node: Node, indices: Array, depth: Array, values: Array) -> tuple[list[int], Any]:
    return [*indices.shape, int(depth.reshape(-1)[0])], values.dtype


