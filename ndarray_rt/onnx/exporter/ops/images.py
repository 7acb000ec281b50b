"""Images to other sizes, and sampled at places."""

from __future__ import annotations

import numpy as np

from ..call import Call
from ..dims import Dim
from ..table import Refused, exports


def _resized(c: Call, x: str, mode: str, corners: bool) -> str:
    """As high and wide as the output."""
    after = c.out_shape()
    if not corners and mode == "linear" and 1 in after[2:]:
        # a single row or column is the first one here
        raise Refused("a height or width of 1 without align_corners")
    size = c.sizes(after, (c.input(0), c.shape()))
    how = "align_corners" if corners else ("asymmetric" if mode == "nearest" else
                                           "half_pixel")
    return c.op("Resize", x, "", "", size, mode=mode, coordinate_transformation_mode=how,
                nearest_mode="floor" if mode == "nearest" else None)


@exports("_contrib_BilinearResize2D")
def bilinear_resize(c: Call) -> str:
    return _resized(c, c.input(0), "linear", c.p.align_corners)


@exports("UpSampling")
def up_sampling(c: Call) -> str:
    if c.p.sample_type == "bilinear":
        scale = c.p.scale
        size, pad = 2 * scale - scale % 2, scale // 2
        return c.op("ConvTranspose", *c.inputs, kernel_shape=[size, size], strides=[scale, scale],
                    pads=[pad] * 4, group=c.p.num_filter)
    rows, columns = c.shape()[2], c.shape()[3]
    parts = []
    for i, x in enumerate(c.inputs):
        scales = [c.p.scale if i == 0 else _ratio(c, i, axis, full_size)
                  for axis, full_size in ((2, rows), (3, columns))]
        parts.append(x if scales == [1, 1] else c.op(
            "Resize", x, "", c.const(np.array([1, 1, *scales], np.float32)), mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
    if len(parts) == 1:
        return parts[0]
    return (c.op("Sum", *parts) if c.p.multi_input_mode == "sum" else
            c.op("Concat", *parts, axis=1))


def _ratio(c: Call, i: int, axis: int, first: int | Dim) -> int:
    own = c.shape(i)[axis]
    if isinstance(own, Dim) or isinstance(first, Dim):
        raise Refused("several inputs of free sizes")
    return first * int(c.p.scale) // own


@exports("_contrib_AdaptiveAvgPooling2D")
def adaptive_pooling(c: Call) -> str:
    after = c.fixed(c.out_shape()[2:], "the output")
    if after == [1, 1]:
        return c.op("GlobalAveragePool", c.input(0))
    before = c.fixed(c.shape()[2:], "the size of data")
    rows, columns = (_means(size, count).astype(c.dtype())
                     for size, count in zip(before, after, strict=True))
    made = c.op("MatMul", c.input(0), c.const(np.ascontiguousarray(columns.T)))
    return c.op("MatMul", c.const(rows), made)


def _means(size: int, count: int) -> np.ndarray:
    """The matrix of means over neighbours that may overlap."""
    made = np.zeros((count, size))
    for i in range(count):
        begin, end = i * size // count, -(-(i + 1) * size // count)
        made[i, begin:end] = 1 / (end - begin)
    return made


@exports("BilinearSampler")
def bilinear_sampler(c: Call) -> str:
    if c.opset < 16:
        raise Refused("GridSample is there from operator set 16 on")
    grid = c.op("Transpose", c.input(1), perm=[0, 2, 3, 1])
    return c.op("GridSample", c.input(0), grid, mode="linear" if c.opset >= 20 else "bilinear",
                padding_mode="zeros", align_corners=1)
