"""For each row of the table in native/faulty_kernels.c cases that show its fault."""

from __future__ import annotations

import numpy as np

from ndarray_rt.ops.nn.conv_geometry import (
    Geometry,
    conv_backward_weights,
    conv_forward,
    output_dims,
)
from ndarray_rt.storage.desc import any_desc
from ndarray_rt.storage.primitive import Arg, Direction, Kind

from .case import FLOAT, Case, layout, whole_numbers
from .space import Choice, Space


def _strided(chosen: Choice, rng: np.random.Generator) -> Case:
    """The gradient of the weights of a 1 x 1 convolution with a stride, or, as the same thing, of
    a deconvolution, of images in channels-last order."""
    channels, spatial = chosen["channels"], chosen["spatial"]
    rank, filters = len(spatial), 16
    geo = Geometry((1,) * rank, (2,) * rank, (1,) * rank, (0,) * rank, (0,) * rank, 1)
    big = (chosen["batch"], channels, *spatial)
    small = (chosen["batch"], filters, *output_dims(spatial, geo))
    x, dy = whole_numbers(rng, big), whole_numbers(rng, small)
    dw = conv_backward_weights(x, dy, geo, (filters, channels, *geo.kernel))
    fields = {"strides": geo.stride, "dilates": (0,) * rank, "pad_l": geo.pad, "pad_r": geo.pad_end}
    images, result = layout(big, "last"), layout(small, "last")
    if chosen["kind"] == Kind.CONVOLUTION:
        return Case(Kind.CONVOLUTION, Direction.BACKWARD_WEIGHTS,
                    {**fields, "src": images, "diff_dst": result,
                     "diff_weights": any_desc(FLOAT, dw.shape)},
                    {Arg.SRC: x, Arg.DIFF_DST: dy}, {Arg.DIFF_WEIGHTS: dw}, "strided")
    dw = np.swapaxes(dw, 0, 1)
    return Case(Kind.DECONVOLUTION, Direction.BACKWARD_WEIGHTS,
                {**fields, "src": result, "diff_dst": images,
                 "diff_weights": any_desc(FLOAT, dw.shape)},
                {Arg.SRC: dy, Arg.DIFF_DST: x}, {Arg.DIFF_WEIGHTS: dw}, "strided")


def _depthwise(chosen: Choice, rng: np.random.Generator) -> Case:
    """A depthwise convolution whose result is added to what was there."""
    channels = chosen["channels"]
    geo = Geometry((2, 2), (1, 1), (1, 1), (0, 0), (0, 0), channels)
    shape, w_shape = (1, channels, 8, 6), (channels, 1, 2, 2)
    out = (1, channels, 7, 5)
    x, w, there = (whole_numbers(rng, dims) for dims in (shape, w_shape, out))
    y = conv_forward(x, w, geo, out[2:]) + there
    return Case(Kind.CONVOLUTION, Direction.FORWARD_INFERENCE,
                {"strides": (1, 1), "dilates": (0, 0), "pad_l": (0, 0), "pad_r": (0, 0),
                 "src": layout(shape, "last"), "dst": layout(out, "last"), "post_sum": True,
                 "weights": any_desc(FLOAT, (channels, 1, 1, 2, 2))},
                {Arg.SRC: x, Arg.WEIGHTS: w, Arg.DST: there}, {Arg.DST: y}, "added to")


SPACES = (
    Space("known: strided", {"channels": (3, 15), "spatial": ((64, 64), (6000,)),
                             "batch": (1, 2), "kind": (Kind.CONVOLUTION, Kind.DECONVOLUTION)},
          _strided),
    Space("known: depthwise", {"channels": (6, 10)}, _depthwise),
)
