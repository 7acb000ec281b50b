"""Convolutions whose windows meet data at places that the data decide."""

from __future__ import annotations

from math import prod

import numpy as np

from ..call import Call
from ..table import Refused, exports


@exports("_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution")
def deformable_convolution(c: Call) -> str:
    if c.opset < 19:
        raise Refused("DeformConv is there from operator set 19 on")
    modulated = c.operator == "_contrib_ModulatedDeformableConvolution"
    geo = c.p.geo
    offset, mask = (c.input(1), c.input(2)) if modulated else _to_the_edge(c)
    rest = c.inputs[3:] if modulated else c.inputs[2:]
    bias = rest[1] if len(rest) > 1 else c.const(np.zeros(c.p.num_filter, c.dtype()))
    return c.op("DeformConv", c.input(0), rest[0], offset, bias, mask,
                kernel_shape=list(c.p.kernel), strides=list(geo.stride),
                dilations=list(geo.dilate), pads=[*geo.pad, *geo.pad], group=c.p.num_group,
                offset_group=c.p.num_deformable_group)


def _to_the_edge(c: Call) -> tuple[str, str]:
    """Offsets and a mask for the plain form: data go on from their last pixel to their end, and
    count from their first pixel on only; in ONNX they fall to zero on both sides."""
    size = c.fixed(c.shape()[2:], "the size of data")
    outs = c.fixed(c.shape(1)[2:], "the size of offsets")
    geo, groups = c.p.geo, c.p.num_deformable_group
    at = np.indices((*c.p.kernel, *outs))
    begins = np.stack([at[2 + i] * geo.stride[i] + at[i] * geo.dilate[i] - geo.pad[i]
                       for i in range(2)]).astype(c.dtype())
    # (groups, points, y and x, rows, columns)
    begin = np.broadcast_to(begins.reshape(2, -1, *outs).swapaxes(0, 1),
                            (groups, prod(c.p.kernel), 2, *outs))
    end = np.broadcast_to(np.array(size).reshape(2, 1, 1), begin.shape)
    begin, end = (x.reshape(1, -1, *outs).astype(c.dtype()) for x in (begin, end))
    place = c.op("Add", c.input(1), c.const(begin))
    inside = c.op("And", c.op("GreaterOrEqual", place, c.number(0.0)),
                  c.op("Less", place, c.const(end)))
    offset = c.op("Sub", c.op("Min", place, c.const(end - 1)), c.const(begin))
    pairs = c.op("Reshape", c.cast(inside, np.int32), c.ints(0, -1, 2, *outs))
    mask = c.reduce("ReduceMin", pairs, [2], False)
    return offset, c.cast(mask, c.dtype())
