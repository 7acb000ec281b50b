"""For each row of the table in faulty_kernels.c cases that show its fault."""

from __future__ import annotations

from math import prod

import numpy as np

from ndarray_rt.native import lib
from ndarray_rt.ops.nn.conv_geometry import (
    Geometry,
    conv_backward_weights,
    conv_forward,
    output_dims,
)
from ndarray_rt.storage.desc import any_desc
from ndarray_rt.storage.primitive import Arg, Direction, Kind, binary_post

from . import norms, points
from .case import FLOAT, Case, layout, real_numbers, whole_numbers
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


def _grouped(chosen: Choice, rng: np.random.Generator) -> Case:
    """A grouped convolution in blocks of 8 channels, of which 16 are computed at a time, with an
    operand added to its result."""
    geo = Geometry((1, 1), (1, 1), (1, 1), (0, 0), (0, 0), 2)
    shape, out, w_shape = (1, 16, 3, 4), (1, 32, 3, 4), (32, 8, 1, 1)
    operand = (1, 32, 3, 4) if chosen["is_full"] else (1, 32, 1, 1)
    x, w, added = (whole_numbers(rng, dims) for dims in (shape, w_shape, operand))
    y = conv_forward(x, w, geo, out[2:]) + added
    order = "8" if chosen["is_full"] else "first"
    post_op = binary_post(lib.NDRT_BINARY_ADD, layout(operand, order))
    return Case(Kind.CONVOLUTION, Direction.FORWARD_INFERENCE,
                {"strides": (1, 1), "dilates": (0, 0), "pad_l": (0, 0), "pad_r": (0, 0),
                 "src": layout(shape, "8"), "dst": layout(out, "8"), "post_ops": [post_op],
                 "weights": any_desc(FLOAT, (2, 16, 8, 1, 1))},
                {Arg.SRC: x, Arg.WEIGHTS: w, Arg.POST_OP + Arg.SRC_1: added}, {Arg.DST: y},
                "grouped")


def _prelu(chosen: Choice, rng: np.random.Generator) -> Case:
    """In blocks of 8 channels, with an odd number of blocks."""
    while True:
        case = points.prelu(chosen, rng)
        if prod(case.fields["src"].padded_dims) % 16:
            return case


def _softmax(chosen: Choice, rng: np.random.Generator) -> Case:
    """Of one channel, along the last axis of several."""
    dims = (3, 1, chosen["pixels"])
    x = real_numbers(rng, dims)
    e = np.exp(x.astype(np.float64))
    src = layout(dims, "last")
    return Case(Kind.SOFTMAX, Direction.FORWARD_INFERENCE,
                {"alg": lib.NDRT_SOFTMAX_ACCURATE, "axis": 2, "src": src, "dst": src},
                {Arg.SRC: x}, {Arg.DST: e / e.sum(axis=2, keepdims=True)}, "", 1e-5)


SPACES = (
    Space("known: strided", {"channels": (3, 15), "spatial": ((64, 64), (6000,)),
                             "batch": (1, 2), "kind": (Kind.CONVOLUTION, Kind.DECONVOLUTION)},
          _strided),
    Space("known: grouped", {"is_full": (False, True)}, _grouped),
    Space("known: prelu", {"channels": (7,), "rank": (1, 3), "order": ("8",),
                           "broadcast": ("none",),
                           "direction": (Direction.FORWARD_TRAINING, Direction.BACKWARD)},
          _prelu),
    Space("known: lrn", {"channels": (17, 40), "rank": (2,), "order": ("last",), "size": (9,),
                         "direction": (Direction.BACKWARD_DATA,)}, norms.lrn),
    Space("known: softmax", {"pixels": (3, 16)}, _softmax),
    Space("known: depthwise", {"channels": (6, 10)}, _depthwise),
)
