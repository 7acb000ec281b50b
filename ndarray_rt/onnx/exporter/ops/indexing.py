"""Elements that are found by their places, and orders of elements."""

from __future__ import annotations

import numpy as np

from ..call import Call
from ..dims import Dim, Size
from ..table import Refused, exports


def _inside(c: Call, index: str, size: Size, mode: str, i: int) -> str:
    """Places within an axis of an input: beyond it the nearer end, or counted round."""
    if mode == "raise":
        return index
    length = (c.const(size, np.int64) if isinstance(size, int) else
              c.squeeze(c.sizes([size], (c.input(i), c.shape(i))), 0))
    if mode == "wrap":
        return c.op("Mod", index, length)
    last = (c.const(size - 1, np.int64) if isinstance(size, int) else
            c.op("Sub", length, c.const(1, np.int64)))
    return c.op("Clip", index, c.const(0, np.int64), last)


@exports("take")
def take(c: Call) -> str:
    axis = c.p.axis % c.rank()
    index = _inside(c, c.whole(1), c.shape()[axis], c.p.mode, 0)
    return c.op("Gather", c.input(0), index, axis=axis)


@exports("batch_take")
def batch_take(c: Call) -> str:
    index = c.unsqueeze(_inside(c, c.whole(1), c.shape()[1], "clip", 0), 1)
    return c.squeeze(c.op("GatherElements", c.input(0), index, axis=1), 1)


@exports("pick")
def pick(c: Call) -> str:
    rank = c.rank()
    axis = c.p.axis % rank
    index = _inside(c, c.whole(1), c.shape()[axis], c.p.mode, 0)
    if c.rank(1) != rank:
        index = c.unsqueeze(index, axis)
    made = c.op("GatherElements", c.input(0), index, axis=axis)
    if c.p.keepdims:
        return made
    return c.op("Reshape", made, c.ints(1)) if rank == 1 else c.squeeze(made, axis)


@exports("gather_nd")
def gather_nd(c: Call) -> str:
    return c.op("GatherND", c.input(0), _coordinates(c, 1))


@exports("one_hot")
def one_hot(c: Call) -> str:
    dtype, x, depth = c.out_dtype(), c.whole(0), c.p.depth
    if depth < 1:
        raise Refused(f"depth {depth}")
    values = np.array([c.p.off_value, c.p.on_value], dtype)
    # ONNX counts places below 0 from the end, where nothing is hot here
    inside = c.op("Where", c.op("Less", x, c.const(0, np.int64)), c.const(depth, np.int64), x)
    hot = c.op("OneHot", inside, c.const(depth, np.int64), c.const([0, 1], np.float32), axis=-1)
    if dtype == np.float32 and list(values) == [0, 1]:
        return hot
    return c.op("Where", c.cast(hot, np.bool_), c.const(values[1]), c.const(values[0]))


# ---- orders ------------------------------------------------------------------------------------


def _all_of(c: Call, axis: int | None) -> tuple[str, int, str, Size | None]:
    """(data, axis, how many along it as a tensor, and as a number); no axis: data as a row."""
    x = c.input(0)
    if axis is None:
        x = c.op("Reshape", x, c.ints(-1))
        return x, 0, c.op("Shape", x), None
    axis %= c.rank()
    size = c.shape()[axis]
    return x, axis, c.sizes([size], (x, c.shape())), size


@exports("sort", "argsort")
def sort(c: Call) -> str:
    x, axis, count, _ = _all_of(c, c.p.axis)
    values, places = c.ops("TopK", 2, x, count, axis=axis, largest=int(not c.p.is_ascend))
    if c.operator == "sort":
        return values
    return c.cast(places, c.out_dtype())


@exports("topk")
def topk(c: Call) -> list[str]:
    x, axis, count, size = _all_of(c, c.p.axis)
    if c.p.k > 0:
        if isinstance(size, Dim) or size is None or c.p.k > size:
            size = c.fixed((c.out_shape()[axis],), "the axis")[0] if size is not None else c.p.k
        else:
            size = c.p.k
        count = c.ints(int(size))
    if c.p.ret_typ == "mask":
        raise Refused("ret_typ 'mask'")
    values, places = c.ops("TopK", 2, x, count, axis=axis, largest=int(not c.p.is_ascend))
    if c.p.ret_typ == "value":
        return [values]
    indices = c.cast(places, c.out_dtype(c.node.num_outputs - 1))
    return [indices] if c.p.ret_typ == "indices" else [values, indices]


# ---- parts that are replaced -------------------------------------------------------------------


# of several values for one place the last one counts here, and in ONNX none certainly


def _coordinates(c: Call, i: int) -> str:
    """Coordinates along the last axis."""
    return c.transpose(c.whole(i), [*range(1, c.rank(i)), 0])


@exports("scatter_nd")
def scatter_nd(c: Call) -> str:
    zeros = c.op("ConstantOfShape", c.ints(*c.p.shape), value=c.writer.filled(0, c.dtype()))
    return c.op("ScatterND", zeros, _coordinates(c, 1), c.input(0))


@exports("_scatter_set_nd")
def scatter_set_nd(c: Call) -> str:
    return c.op("ScatterND", c.input(0), _coordinates(c, 2), c.input(1))


@exports("_contrib_index_copy")
def index_copy(c: Call) -> str:
    return c.op("ScatterND", c.input(0), c.unsqueeze(c.whole(1), 1), c.input(2))
