"""Shapes, order of axes, parts and joins of arrays; arrays of one number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..call import Call
from ..dims import Dim, Size, Sizes
from ..table import Refused, exports
from .elementwise import same

_FURTHEST = (1 << 63) - 1


@exports("Reshape")
def reshape(c: Call) -> str:
    return c.reshape(c.input(0), c.shape(), c.out_shape())


@exports("reshape_like")
def reshape_like(c: Call) -> str:
    before, after = c.shape(), c.out_shape()
    if sum(isinstance(size, Dim) for size in after) <= 1:
        return c.reshape(c.input(0), before, after)
    return c.op("Reshape", c.input(0), c.sizes(after, (c.input(0), before),
                                               (c.input(1), c.shape(1))))


@exports("Flatten")
def flatten(c: Call) -> str:
    return c.op("Flatten", c.input(0), axis=1)


@exports("expand_dims")
def expand_dims(c: Call) -> str:
    return c.unsqueeze(c.input(0), c.p.axis % (c.rank() + 1))


@exports("squeeze")
def squeeze(c: Call) -> str:
    shape, given = c.shape(), c.p.axis
    if given is None and any(isinstance(size, Dim) for size in shape):
        raise Refused("without axis, and a size is free: which axes go would depend on it")
    axes = ([i for i, size in enumerate(shape) if size == 1] if given is None else
            [axis % len(shape) for axis in ([given] if isinstance(given, int) else given)])
    if len(axes) == len(shape):  # an array has an axis at least
        return c.op("Reshape", c.input(0), c.ints(1))
    return c.squeeze(c.input(0), *axes) if axes else c.input(0)


@exports("transpose")
def transpose(c: Call) -> str:
    rank = c.rank()
    axes = [axis % rank for axis in c.p.axes] if c.p.axes else list(range(rank))[::-1]
    return c.transpose(c.input(0), axes)


@exports("SwapAxis")
def swap_axes(c: Call) -> str:
    axes = list(range(c.rank()))
    a, b = c.p.dim1 % len(axes), c.p.dim2 % len(axes)
    axes[a], axes[b] = axes[b], axes[a]
    return c.transpose(c.input(0), axes)


@exports("depth_to_space")
def depth_to_space(c: Call) -> str:
    return c.op("DepthToSpace", c.input(0), blocksize=c.p.block_size, mode="DCR")


@exports("space_to_depth")
def space_to_depth(c: Call) -> str:
    return c.op("SpaceToDepth", c.input(0), blocksize=c.p.block_size)


@exports("reverse")
def reverse(c: Call) -> str:
    given = [axis % c.rank() for axis in ([c.p.axis] if isinstance(c.p.axis, int) else c.p.axis)]
    axes = [axis for axis in range(c.rank()) if given.count(axis) % 2]  # twice is not at all
    if not axes:
        return c.input(0)
    count = len(axes)
    return c.slice(c.input(0), axes, [_FURTHEST] * count, [-_FURTHEST] * count, [-1] * count)


# ---- joins and parts ---------------------------------------------------------------------------


@exports("Concat", "_rnn_param_concat")
def concat(c: Call) -> str:
    return c.op("Concat", *c.inputs, axis=c.p.dim % c.rank())


@exports("stack")
def stack(c: Call) -> str:
    axis = c.p.axis % (c.rank() + 1)
    return c.op("Concat", *[c.unsqueeze(x, axis) for x in c.inputs], axis=axis)


@exports("SliceChannel")
def slice_channel(c: Call) -> list[str]:
    axis = c.p.axis % c.rank()
    size = c.fixed(c.shape()[axis:axis + 1], "the axis that is split")[0]
    return _parts(c, axis, [size // c.p.num_outputs] * c.p.num_outputs)


@exports("_split_v2")
def split_v2(c: Call) -> list[str]:
    axis = c.p.axis % c.rank()
    size = c.fixed(c.shape()[axis:axis + 1], "the axis that is split")[0]
    return _parts(c, axis, [c.fixed((c.out_shape(i)[axis],), "a part")[0]
                            for i in range(c.node.num_outputs)]
                  if not c.p.squeeze_axis else [1] * size)


def _parts(c: Call, axis: int, sizes: Sequence[int]) -> list[str]:
    made = c.split(c.input(0), sizes, axis)
    return [c.squeeze(x, axis) for x in made] if c.p.squeeze_axis else made


@exports("slice")
def slice_(c: Call) -> str:
    begins, ends, steps, axes = [], [], [], []
    for axis, (begin, end) in enumerate(zip(c.p.begin, c.p.end, strict=True)):
        step = (c.p.step[axis] if axis < len(c.p.step) else None) or 1
        if (begin, end, step) == (None, None, 1):
            continue
        axes.append(axis)
        steps.append(step)
        begins.append((0 if step > 0 else _FURTHEST) if begin is None else begin)
        ends.append((_FURTHEST if step > 0 else -_FURTHEST) if end is None else end)
    return c.slice(c.input(0), axes, begins, ends, steps) if axes else c.input(0)


@exports("slice_axis")
def slice_axis(c: Call) -> str:
    return c.slice(c.input(0), [c.p.axis % c.rank()], [c.p.begin],
                   [_FURTHEST if c.p.end is None else c.p.end])


@exports("slice_like")
def slice_like(c: Call) -> str:
    axes = [axis % c.rank() for axis in c.p.axes] or list(range(min(c.rank(), c.rank(1))))
    like = c.shape(1)
    ends = c.sizes([like[axis] for axis in axes], (c.input(1), like))
    return c.op("Slice", c.input(0), c.ints(*[0] * len(axes)), ends, c.ints(*axes))


@exports("Crop")
def crop(c: Call) -> str:
    from ....ops.tensor.crop import window
    shapes = [tuple(c.fixed(c.shape(i), "the size of what is cropped")[-2:])
              for i in range(c.count)]
    found = window(c.p, (1, 1, *shapes[0]), (1, 1, *shapes[1]) if c.count == 2 else None)
    places = [part for part in found[2:] if part is not None]
    return c.slice(c.input(0), [2, 3], [part.start for part in places],
                   [part.stop for part in places])


@exports("Pad")
def pad(c: Call) -> str:
    widths = c.p.pad_width
    return c.pad(c.input(0), widths[::2], widths[1::2], c.p.constant_value, c.p.mode)


# ---- larger by repetition ----------------------------------------------------------------------


def expand(c: Call, x: str, before: Sizes, after: Sizes, *sources: tuple[str, Sequence[Size]],
           ) -> str:
    """Axes of length 1 made as long as those of another shape."""
    return x if before == after else c.op("Expand", x, c.sizes(after, (x, before), *sources))


@exports("broadcast_to", "broadcast_axis")
def broadcast(c: Call) -> str:
    return expand(c, c.input(0), c.shape(), c.out_shape())


@exports("broadcast_like")
def broadcast_like(c: Call) -> str:
    return expand(c, c.input(0), c.shape(), c.out_shape(), (c.input(1), c.shape(1)))


@exports("tile")
def tile(c: Call) -> str:
    x, shape, reps = c.input(0), c.shape(), list(c.p.reps)
    if len(reps) > len(shape):
        x = c.unsqueeze(x, *range(len(reps) - len(shape)))
    reps = [1] * (len(shape) - len(reps)) + reps
    return c.op("Tile", x, c.ints(*reps))


@exports("repeat")
def repeat(c: Call) -> str:
    x, shape, times = c.input(0), c.shape(), c.p.repeats
    if c.p.axis is None:
        made = c.op("Tile", c.op("Reshape", x, c.ints(-1, 1)), c.ints(1, times))
        return c.op("Reshape", made, c.ints(-1))
    axis = c.p.axis % len(shape)
    reps = [1] * (len(shape) + 1)
    reps[axis + 1] = times
    made = c.op("Tile", c.unsqueeze(x, axis + 1), c.ints(*reps))
    tiled = (*shape[:axis + 1], times, *shape[axis + 1:])
    return c.reshape(made, tiled, c.out_shape())


# ---- shapes as arrays, and arrays of one number ------------------------------------------------


@exports("shape_array")
def shape_array(c: Call) -> str:
    return c.op("Shape", c.input(0))


@exports("size_array")
def size_array(c: Call) -> str:
    return c.op("Reshape", c.op("Size", c.input(0)), c.ints(1))


def full(c: Call, value: float, *sources: tuple[str, Sequence[Size]]) -> str:
    """The output, of one number everywhere."""
    made = c.writer.filled(value, c.out_dtype())
    return c.op("ConstantOfShape", c.sizes(c.out_shape(), *sources), value=made)


@exports("zeros_like", "ones_like")
def like(c: Call) -> str:
    return full(c, float(c.operator == "ones_like"), (c.input(0), c.shape()))


@exports("_zeros", "_ones", "_full")
def filled(c: Call) -> str:
    return full(c, {"_zeros": 0.0, "_ones": 1.0}.get(c.operator, getattr(c.p, "value", 0.0)))


@exports("_contrib_arange_like")
def arange_like(c: Call) -> str:
    shape, x = c.shape(), c.input(0)
    if c.p.repeat != 1:
        raise Refused("repeat is not 1")
    after = c.out_shape()
    if c.p.axis is None:
        length = c.op("Size", x)
    else:
        length = c.squeeze(c.sizes([shape[c.p.axis % len(shape)]], (x, shape)), 0)
    made = c.cast(c.op("Range", c.const(0, np.int64), length, c.const(1, np.int64)), c.out_dtype())
    if c.p.step != 1.0:
        made = c.op("Mul", made, c.const(c.p.step, c.out_dtype()))
    if c.p.start != 0.0:
        made = c.op("Add", made, c.const(c.p.start, c.out_dtype()))
    return c.op("Reshape", made, c.sizes(after, (x, shape))) if len(after) > 1 else made


@exports("_contrib_div_sqrt_dim")
def div_sqrt_dim(c: Call) -> str:
    size = c.fixed(c.shape()[-1:], "the last axis")[0]
    return c.op("Div", same(c), c.number(float(size) ** 0.5))
