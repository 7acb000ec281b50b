"""Shapes: Reshape, Transpose, Concat, Slice, Split, Pad and others that move elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import axes_of, axis_of, operator
from ..values import Value, in_graphs

# ---- constants and shapes -----------------------------------------------------------------------


@operator("Constant")
def constant(node: Node) -> Any:
    for name, dtype in (("value", None), ("sparse_value", None), ("value_float", np.float32),
                        ("value_floats", np.float32), ("value_int", np.int64),
                        ("value_ints", np.int64), ("value_string", object),
                        ("value_strings", object)):
        value = node.attr(name)
        if value is not None:
            return np.asarray(value, dtype)
    raise ValueError("has no value")


@operator("ConstantOfShape", shape_from=(0,))
def constant_of_shape(node: Node, shape: Array) -> Array:
    value = node.attr("value")
    value = np.zeros(1, np.float32) if value is None else value
    return np.broadcast_to(value.reshape(-1)[0], tuple(int(dim) for dim in shape))


@constant_of_shape.sized
def constant_of_shape_size(node: Node, shape: Array) -> tuple[Any, Any]:
    value = node.attr("value")
    return shape.reshape(-1), np.dtype(np.float32) if value is None else value.dtype


@operator("Shape")
def shape(node: Node, x: Array) -> Array:
    return _shape(node, x.shape)


def _shape(node: Node, dims: tuple[int, ...]) -> Array:
    return np.array(dims[slice(node.attr("start", 0), node.attr("end"))], np.int64)


@shape.early
def shape_early(node: Node, x: Value) -> Array:
    return _shape(node, x.shape)


@operator("Size")
def size(node: Node, x: Array) -> Array:
    return np.asarray(x.size, np.int64)


@size.early
def size_early(node: Node, x: Value) -> Array:
    return np.asarray(x.size, np.int64)


# ---- other shapes -------------------------------------------------------------------------------


def _reshape_target(node: Node, own: tuple[int, ...], given: Array | None) -> tuple[int, ...]:
    dims = [int(d) for d in (node.attr("shape") if given is None else given)]
    kept = [] if node.attr("allowzero", 0) else [i for i, d in enumerate(dims) if d == 0]
    for i in kept:
        dims[i] = own[i]
    if dims.count(-1) > 1 or any(d < -1 for d in dims):
        raise ValueError(f"a shape {dims}")
    if -1 in dims:
        # without those that stay as they are, which may be 0, as a batch without rows is
        size = prod(d for i, d in enumerate(own) if i not in kept)
        others = prod(d for i, d in enumerate(dims) if d != -1 and i not in kept)
        if others == 0 or size % others:
            raise ValueError(f"{own} does not become {dims}")
        dims[dims.index(-1)] = size // others
    if prod(dims) != prod(own):
        raise ValueError(f"{own} does not become {dims}")
    return tuple(dims)


@operator("Reshape", shape_from=(1,))
def reshape(node: Node, x: Array, given: Array | None = None) -> Array:
    return x.reshape(_reshape_target(node, x.shape, given))


@reshape.symbol
def reshape_symbol(b: GraphBuilder, node: Node, x: Value, given: Value | None = None,
                   ) -> Value | None:
    if not in_graphs(x.dtype) or (given is not None and given.const is None):
        return None
    return b.reshaped(x, _reshape_target(node, x.shape, None if given is None else given.const))


def _flat(node: Node, own: tuple[int, ...]) -> tuple[int, int]:
    axis = int(node.attr("axis", 1))
    axis = axis + len(own) if axis < 0 else axis
    return prod(own[:axis]), prod(own[axis:])


@operator("Flatten")
def flatten(node: Node, x: Array) -> Array:
    return x.reshape(_flat(node, x.shape))


@flatten.symbol
def flatten_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    return b.reshaped(x, _flat(node, x.shape)) if in_graphs(x.dtype) else None


def _squeezed(node: Node, own: tuple[int, ...], axes: Array | None) -> tuple[int, ...]:
    found = axes_of(node, axes, len(own))
    if found is None:
        return tuple(d for d in own if d != 1)
    for axis in found:
        if own[axis] != 1:
            raise ValueError(f"axis {axis} of {own} is no 1")
    return tuple(d for i, d in enumerate(own) if i not in found)


@operator("Squeeze", shape_from=(1,))
def squeeze(node: Node, x: Array, axes: Array | None = None) -> Array:
    return x.reshape(_squeezed(node, x.shape, axes))


@squeeze.symbol
def squeeze_symbol(b: GraphBuilder, node: Node, x: Value, axes: Value | None = None,
                   ) -> Value | None:
    if not in_graphs(x.dtype) or (axes is not None and axes.const is None):
        return None
    return b.reshaped(x, _squeezed(node, x.shape, None if axes is None else axes.const))


def _unsqueezed(node: Node, own: tuple[int, ...], axes: Array | None) -> tuple[int, ...]:
    count = len(node.attr("axes") if axes is None else axes.reshape(-1))
    found = axes_of(node, axes, len(own) + count)
    if found is None or len(set(found)) != count:
        raise ValueError(f"axes {found}")
    rest = iter(own)
    return tuple(1 if i in found else next(rest) for i in range(len(own) + count))


@operator("Unsqueeze", shape_from=(1,))
def unsqueeze(node: Node, x: Array, axes: Array | None = None) -> Array:
    return x.reshape(_unsqueezed(node, x.shape, axes))


@unsqueeze.symbol
def unsqueeze_symbol(b: GraphBuilder, node: Node, x: Value, axes: Value | None = None,
                     ) -> Value | None:
    if not in_graphs(x.dtype) or (axes is not None and axes.const is None):
        return None
    return b.reshaped(x, _unsqueezed(node, x.shape, None if axes is None else axes.const))


@operator("Transpose")
def transpose(node: Node, x: Array) -> Array:
    return np.transpose(x, node.attr("perm"))


@transpose.symbol
def transpose_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    if not in_graphs(x.dtype):
        return None
    order = [int(a) for a in node.attr("perm") or range(x.rank)[::-1]]
    kept = [a for a in order if x.shape[a] != 1]
    if kept == sorted(kept):
        # axes of length 1 alone move
        return b.reshaped(x, [x.shape[a] for a in order])
    return b.transposed(x, order)


@operator("Expand", shape_from=(1,))
def expand(node: Node, x: Array, shape: Array) -> Array:
    return np.broadcast_to(x, expand_size(node, x, shape)[0])


@expand.sized
def expand_size(node: Node, x: Array, shape: Array) -> tuple[tuple[int, ...], Any]:
    return np.broadcast_shapes(x.shape, tuple(int(d) for d in shape)), x.dtype


@expand.symbol
def expand_symbol(b: GraphBuilder, node: Node, x: Value, shape: Value) -> Value | None:
    if shape.const is None or not in_graphs(x.dtype):
        return None
    dims = np.broadcast_shapes(x.shape, tuple(int(d) for d in shape.const))
    if 0 in dims:
        return None
    x = b.alike(x, len(dims))
    return x if x.shape == dims else b.op("broadcast_to", x, shape=dims)


@operator("Tile", shape_from=(1,))
def tile(node: Node, x: Array, repeats: Array) -> Array:
    return np.tile(x, tuple(int(r) for r in repeats))


@tile.sized
def tile_size(node: Node, x: Array, repeats: Array) -> tuple[list[int], Any]:
    if any(int(r) < 0 for r in repeats):
        raise ValueError(f"repeats of {repeats.tolist()}")
    return [d * int(r) for d, r in zip(x.shape, repeats, strict=True)], x.dtype


@tile.symbol
def tile_symbol(b: GraphBuilder, node: Node, x: Value, repeats: Value) -> Value | None:
    if repeats.const is None or not in_graphs(x.dtype) or not x.rank:
        return None
    times = tuple(int(r) for r in repeats.const)
    if min(times) < 1:
        return None
    return b.op("tile", x, reps=times)


# ---- parts --------------------------------------------------------------------------------------


@operator("Concat")
def concat(node: Node, *arrays: Array) -> Array:
    return np.concatenate(arrays, axis_of(node, arrays[0].ndim, 1))


@concat.sized
def concat_size(node: Node, *arrays: Array) -> tuple[list[int], Any]:
    axis = axis_of(node, arrays[0].ndim, 1)
    dims = list(arrays[0].shape)
    dims[axis] = sum(x.shape[axis] for x in arrays)
    return dims, arrays[0].dtype


@concat.symbol
def concat_symbol(b: GraphBuilder, node: Node, *values: Value) -> Value | None:
    if not all(in_graphs(v.dtype) and v.dtype == values[0].dtype for v in values):
        return None
    axis = axis_of(node, values[0].rank, 1)
    values = tuple(v for v in values if v.shape[axis])
    if len(values) == 1:
        return values[0]
    if any(v.size == 0 for v in values):
        return None
    return b.op("Concat", *values, dim=axis)


def _slices(node: Node, own: tuple[int, ...], starts: Any, ends: Any, axes: Any, steps: Any,
            ) -> list[slice]:
    found = range(len(starts)) if axes is None else [int(a) % max(len(own), 1) for a in axes]
    made = [slice(None)] * len(own)
    for i, axis in enumerate(found):
        step = 1 if steps is None else int(steps[i])
        if step == 0:
            raise ValueError("a step 0")
        length = own[axis]
        start, end = int(starts[i]), int(ends[i])
        start = start + length if start < 0 else start
        end = end + length if end < 0 else end
        if step > 0:
            start, end = min(max(start, 0), length), min(max(end, 0), length)
            made[axis] = slice(start, max(end, start), step)
        else:
            start, end = min(max(start, 0), length - 1), min(max(end, -1), length - 1)
            made[axis] = slice(start, None if end < 0 else end, step) if start > end else (
                slice(0, 0))
    return made


@operator("Slice", shape_from=(1, 2, 3, 4))
def slice_(node: Node, x: Array, starts: Array | None = None, ends: Array | None = None,
           axes: Array | None = None, steps: Array | None = None) -> Array:
    if starts is None:
        return x[tuple(_slices(node, x.shape, node.attr("starts"), node.attr("ends"),
                               node.attr("axes"), None))]
    return x[tuple(_slices(node, x.shape, starts, ends, axes, steps))]


@slice_.symbol
def slice_symbol(b: GraphBuilder, node: Node, x: Value, *given: Value | None) -> Value | None:
    if not in_graphs(x.dtype) or any(v is not None and v.const is None for v in given):
        return None
    if given:
        parts = [None if v is None else v.const for v in (*given, None, None)][:4]
    else:
        parts = [node.attr("starts"), node.attr("ends"), node.attr("axes"), None]
    cut = _slices(node, x.shape, *parts)
    return sliced(b, x, cut)


def sliced(b: GraphBuilder, x: Value, cut: list[slice]) -> Value | None:
    """A part of a tensor; x itself where it is all of it, None where it has no elements."""
    lengths = [len(range(d)[s]) for d, s in zip(x.shape, cut, strict=True)]
    if 0 in lengths or not in_graphs(x.dtype):
        return None
    changed = [i for i, (d, s) in enumerate(zip(x.shape, cut, strict=True))
               if lengths[i] != d or (s.step or 1) < 0]
    if not changed:
        return x
    count = changed[-1] + 1
    begin = tuple(s.start if i in changed else None for i, s in enumerate(cut[:count]))
    end = tuple(s.stop if i in changed else None for i, s in enumerate(cut[:count]))
    step = tuple(s.step if i in changed else None for i, s in enumerate(cut[:count]))
    if len(changed) == 1 and cut[changed[0]].step in (None, 1):
        axis = changed[0]
        return b.op("slice_axis", x, axis=axis, begin=begin[axis], end=end[axis])
    if all(s in (None, 1) for s in step):
        return b.op("slice", x, begin=begin, end=end)
    return b.op("slice", x, begin=begin, end=end, step=step)


def _sections(node: Node, length: int, given: Any) -> list[int]:
    sizes = node.attr("split") if given is None else given
    if sizes is not None:
        made = [int(s) for s in sizes]
        if sum(made) != length or min(made, default=0) < 0:
            raise ValueError(f"parts of {made} of {length}")
        return made
    count = int(node.attr("num_outputs", len(node.outputs)))
    if not 1 <= count <= max(length, len(node.outputs)):
        raise ValueError(f"{count} parts of {length}")
    part = -(-length // count)
    made = [part] * count
    made[-1] = length - part * (count - 1)
    if node.attr("num_outputs") is None and length % count:
        raise ValueError(f"{count} equal parts of {length}")
    return made


@operator("Split", shape_from=(1,))
def split(node: Node, x: Array, given: Array | None = None) -> tuple[Array, ...]:
    axis = axis_of(node, x.ndim, 0)
    sizes = _sections(node, x.shape[axis], given)
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


@split.symbol
def split_symbol(b: GraphBuilder, node: Node, x: Value, given: Value | None = None,
                 ) -> tuple[Value, ...] | None:
    if not in_graphs(x.dtype) or (given is not None and given.const is None):
        return None
    axis = axis_of(node, x.rank, 0)
    sizes = _sections(node, x.shape[axis], None if given is None else given.const)
    if len(sizes) == 1:
        return (x,)
    if min(sizes) < 1:
        return None
    if len(set(sizes)) == 1:
        return tuple(b.ops("SliceChannel", x, num_outputs=len(sizes), axis=axis))
    starts = [0, *np.cumsum(sizes)[:-1].tolist()]
    return tuple(b.op("slice_axis", x, axis=axis, begin=start, end=start + length)
                 for start, length in zip(starts, sizes, strict=True))


# ---- channels and blocks ------------------------------------------------------------------------


@operator("DepthToSpace")
def depth_to_space(node: Node, x: Array) -> Any:
    n, c, h, w = x.shape
    k = int(node.attr("blocksize"))
    if node.attr("mode", "DCR") == "DCR":
        parts = x.reshape(n, k, k, c // k**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, c // k**2, k, k, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // k**2, h * k, w * k)


@depth_to_space.symbol
def depth_to_space_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    if not x.is_float:
        return None
    n, c, h, w = x.shape
    k = int(node.attr("blocksize"))
    if node.attr("mode", "DCR") == "DCR":
        return b.op("depth_to_space", x, block_size=k)
    parts = b.transposed(b.reshaped(x, (n, c // k**2, k, k, h, w)), (0, 1, 4, 2, 5, 3))
    return b.reshaped(parts, (n, c // k**2, h * k, w * k))


@operator("SpaceToDepth")
def space_to_depth(node: Node, x: Array) -> Any:
    n, c, h, w = x.shape
    k = int(node.attr("blocksize"))
    order = (0, 3, 5, 1, 2, 4) if node.attr("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = x.reshape(n, c, h // k, k, w // k, k).transpose(order)
    return parts.reshape(n, c * k * k, h // k, w // k)


@space_to_depth.symbol
def space_to_depth_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    if not x.is_float or node.attr("mode", "DCR") != "DCR":
        return None
    return b.op("space_to_depth", x, block_size=int(node.attr("blocksize")))


@operator("Range", shape_from=(0, 1, 2))
def range_(node: Node, start: Array, limit: Array, delta: Array) -> Any:
    first, step = start.reshape(-1)[0], delta.reshape(-1)[0]
    count = range_size(node, start, limit, delta)[0][0]
    return (first + np.arange(count, dtype=start.dtype) * step).astype(start.dtype)


@range_.sized
def range_size(node: Node, start: Array, limit: Array, delta: Array) -> tuple[list[int], Any]:
    first, end, step = (v.reshape(-1)[0] for v in (start, limit, delta))
    if start.dtype.kind == "f":
        count = max(0, int(np.ceil((end - first) / step)))
    else:
        # len() knows no more than 64 bits
        first, end, step = int(first), int(end), int(step)
        if step == 0:
            raise ValueError("a step 0")
        count = max(0, -((first - end) // step))
    return [count], start.dtype


@operator("EyeLike")
def eye_like(node: Node, x: Array) -> Any:
    from .casts import dtype_of
    dtype = x.dtype if node.attr("dtype") is None else dtype_of(node.attr("dtype"))
    rows, columns = x.shape
    return np.eye(rows, columns, int(node.attr("k", 0)), dtype)


@eye_like.sized
def eye_like_size(node: Node, x: Array) -> tuple[tuple[int, ...], Any]:
    from .casts import dtype_of
    return x.shape, x.dtype if node.attr("dtype") is None else dtype_of(node.attr("dtype"))


@operator("Trilu", shape_from=())
def trilu(node: Node, x: Array, k: Array | None = None) -> Array:
    offset = 0 if k is None else int(k.reshape(-1)[0])
    return np.triu(x, offset) if node.attr("upper", 1) else np.tril(x, offset)


@operator("ReverseSequence")
def reverse_sequence(node: Node, x: Array, lengths: Array) -> Array:
    time, batch = int(node.attr("time_axis", 0)), int(node.attr("batch_axis", 1))
    made = np.array(x)
    view, source = np.moveaxis(made, (batch, time), (0, 1)), np.moveaxis(x, (batch, time), (0, 1))
    for i, length in enumerate(lengths):
        view[i, :length] = source[i, :length][::-1]
    return made


@reverse_sequence.symbol
def reverse_sequence_symbol(b: GraphBuilder, node: Node, x: Value, lengths: Value) -> Value | None:
    axis = int(node.attr("time_axis", 0)) % x.rank
    if lengths.const is None or (lengths.const != x.shape[axis]).any():
        return None
    return b.op("reverse", x, axis=axis)
