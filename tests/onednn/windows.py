"""Cases of what slides windows over images: convolution, deconvolution, pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.native import lib
from ndarray_rt.ops.nn.conv_geometry import (
    Geometry,
    conv_backward_data,
    conv_backward_weights,
    conv_forward,
    output_dims,
)
from ndarray_rt.ops.nn.pool_window import (
    Windows,
    divisors,
    max_backward,
    max_windows,
    reduce_windows,
    spread_windows,
)
from ndarray_rt.storage.desc import any_desc, default_desc
from ndarray_rt.storage.primitive import (
    SUM_POST,
    Arg,
    Direction,
    Kind,
    binary_post,
    eltwise_post,
)

from .case import FLOAT, Case, layout, real_numbers, threads, whole_numbers
from .space import Choice, Space

CHANNELS = range(1, 18)
MORE_CHANNELS = (24, 31, 32, 33, 48, 64)
STEPS = (1, 2, 3)
DIRECTIONS = (Direction.FORWARD_INFERENCE, Direction.FORWARD_TRAINING, Direction.BACKWARD_DATA,
              Direction.BACKWARD_WEIGHTS)
LAYOUTS = ("last", "first", "16", "8", "any")


def _geometry(chosen: Choice, rng: np.random.Generator) -> Geometry:
    rank, kernel, stride = chosen["rank"], chosen["kernel"], chosen["stride"]
    pad = tuple(int(rng.integers(0, kernel)) for _ in range(rank))
    dilate = int(rng.choice((1, 1, 2))) if kernel > 1 else 1
    kernels = (kernel,) * rank
    if rng.random() < 0.2:
        kernels = tuple(int(rng.integers(1, kernel + 1)) for _ in range(rank))
    return Geometry(kernels, (stride,) * rank, (dilate,) * rank, pad, pad, chosen["groups"])


def _spatial(geo: Geometry, rng: np.random.Generator) -> tuple[int, ...]:
    largest = {1: 40, 2: 14, 3: 6}[len(geo.kernel)]
    if rng.random() < 0.1:  # some faults are far from the first pixel
        largest *= 5 if len(geo.kernel) < 3 else 2
    return tuple(int(rng.integers(max(1, geo.extent(axis) - 2 * geo.pad[axis]),
                                  max(largest, geo.extent(axis)) + 1))
                 for axis in range(len(geo.kernel)))


def _others(order: str, rng: np.random.Generator) -> str:
    """The order of the other data tensor: mostly the same."""
    return order if rng.random() < 0.85 else str(rng.choice(LAYOUTS))


def _post_ops(rng: np.random.Generator, dims: tuple[int, ...], order: str,
              ) -> tuple[list[Any], list[Any]]:
    """Post-ops, and for each the values of its operand (of a sum: what stood there; or None)."""
    ops: list[Any] = []
    values: list[Any] = []
    if rng.random() < 0.5:
        ops.append(SUM_POST)
        values.append(whole_numbers(rng, dims))
    if rng.random() < 0.3 and order != "any":
        shape = dims if rng.random() < 0.5 else (1, dims[1], *(1,) * (len(dims) - 2))
        ops.append(binary_post(lib.NDRT_BINARY_ADD, layout(shape, order if shape == dims
                                                           else "first")))
        values.append(whole_numbers(rng, shape))
    if rng.random() < 0.5:
        ops.append(eltwise_post(lib.NDRT_ELTWISE_RELU, 0.0, 0.0))
        values.append(None)
    return ops, values


def _with_post_ops(y: Any, ops: list[Any], values: list[Any],
                   ) -> tuple[Any, dict[int, Any]]:
    """The result after the post-ops, and what they read by argument."""
    inputs: dict[int, Any] = {}
    for at, (op, value) in enumerate(zip(ops, values, strict=True)):
        if op[0] == lib.NDRT_POST_ELTWISE:
            y = np.maximum(y, 0)
        else:
            y = y + value
            inputs[Arg.DST if op is SUM_POST else Arg.POST_OP * (at + 1) + Arg.SRC_1] = value
    return y, inputs


def _convolution(chosen: Choice, rng: np.random.Generator) -> Case | None:
    geo, direction = _geometry(chosen, rng), chosen["direction"]
    groups, of = geo.groups, chosen["filters"]
    channels = chosen["channels"]
    if groups == 0:  # depthwise
        groups, channels, of = channels, 1, 1
        geo = geo._replace(groups=groups)
    shape = (int(rng.integers(1, 4)), groups * channels, *_spatial(geo, rng))
    w_shape = (groups * of, channels, *geo.kernel)
    out = (shape[0], groups * of, *output_dims(shape[2:], geo))
    weights_dims = w_shape if groups == 1 else (groups, of, *w_shape[1:])
    order = chosen["order"]
    src, dst = layout(shape, order), layout(out, _others(order, rng))
    x, w, dy = (whole_numbers(rng, dims) for dims in (shape, w_shape, out))
    has_bias = bool(rng.random() < 0.5) and direction != Direction.BACKWARD_DATA
    bias = default_desc(FLOAT, (groups * of,)) if has_bias else None
    b = whole_numbers(rng, (groups * of,))
    weights = any_desc(FLOAT, weights_dims)
    fields: dict[str, Any] = {"strides": geo.stride, "pad_l": geo.pad, "pad_r": geo.pad_end,
                              "dilates": tuple(d - 1 for d in geo.dilate)}
    inputs: dict[int, Any] = {}
    if direction == Direction.BACKWARD_DATA:
        fields |= {"diff_src": src, "weights": weights, "diff_dst": dst}
        inputs |= {Arg.DIFF_DST: dy, Arg.WEIGHTS: w}
        outputs: dict[int, Any] = {Arg.DIFF_SRC: conv_backward_data(dy, w, geo, shape)}
    elif direction == Direction.BACKWARD_WEIGHTS:
        fields |= {"src": src, "diff_weights": weights, "diff_dst": dst, "diff_bias": bias}
        inputs |= {Arg.SRC: x, Arg.DIFF_DST: dy}
        outputs = {Arg.DIFF_WEIGHTS: conv_backward_weights(x, dy, geo, w_shape)}
        if has_bias:
            outputs[Arg.DIFF_BIAS] = dy.sum(axis=(0, *range(2, dy.ndim)))
    else:
        fields |= {"src": src, "weights": weights, "dst": dst, "bias": bias}
        inputs |= {Arg.SRC: x, Arg.WEIGHTS: w}
        y = conv_forward(x, w, geo, out[2:])
        if has_bias:
            inputs[Arg.BIAS] = b
            y = y + b.reshape(-1, *(1,) * chosen["rank"])
        if direction == Direction.FORWARD_INFERENCE and rng.random() < 0.5:
            ops, values = _post_ops(rng, out, order)
            y, read = _with_post_ops(y, ops, values)
            fields["post_ops"] = ops
            inputs |= read
        outputs = {Arg.DST: y}
    return Case(Kind.CONVOLUTION, direction, fields, inputs, outputs,
                f"kernel:{geo.kernel} groups:{groups} post-ops:{len(fields.get('post_ops', ()))}",
                threads=threads(rng))


def _deconvolution(chosen: Choice, rng: np.random.Generator) -> Case | None:
    """The gradient of a convolution for its data, and that one's gradients."""
    geo, direction = _geometry(chosen, rng), chosen["direction"]
    groups, of, channels = geo.groups, chosen["filters"], chosen["channels"]
    if groups == 0:
        groups, channels, of = channels, 1, 1
        geo = geo._replace(groups=groups)
    big = (int(rng.integers(1, 4)), groups * of, *_spatial(geo, rng))
    small = (big[0], groups * channels, *output_dims(big[2:], geo))
    # oneDNN knows no rest behind the last window
    exact = tuple((n - 1) * s + geo.extent(axis) - 2 * geo.pad[axis]
                  for axis, (n, s) in enumerate(zip(small[2:], geo.stride, strict=True)))
    if min(exact) < 1:
        return None
    big = (*big[:2], *exact)
    w_shape = (groups * channels, of, *geo.kernel)
    # (groups, of, channels per group, *kernel), as oneDNN counts them
    swapped = (groups, of, channels, *geo.kernel) if groups > 1 else (of, channels, *geo.kernel)

    def seen(w: Any) -> Any:
        parted = w.reshape(groups, channels, of, *geo.kernel)
        return np.swapaxes(parted, 1, 2).reshape(swapped)
    order = chosen["order"]
    src, dst = layout(small, order), layout(big, _others(order, rng))
    x, w, dy = (whole_numbers(rng, dims) for dims in (small, w_shape, big))
    weights = any_desc(FLOAT, swapped)
    fields: dict[str, Any] = {"strides": geo.stride, "pad_l": geo.pad, "pad_r": geo.pad_end,
                              "dilates": tuple(d - 1 for d in geo.dilate)}
    inputs: dict[int, Any]
    outputs: dict[int, Any]
    has_bias = bool(rng.random() < 0.5) and direction != Direction.BACKWARD_DATA
    bias = default_desc(FLOAT, (groups * of,)) if has_bias else None
    if direction == Direction.BACKWARD_DATA:
        fields |= {"diff_src": src, "weights": weights, "diff_dst": dst}
        inputs = {Arg.DIFF_DST: dy, Arg.WEIGHTS: seen(w)}
        outputs = {Arg.DIFF_SRC: conv_forward(dy, w, geo, small[2:])}
    elif direction == Direction.BACKWARD_WEIGHTS:
        fields |= {"src": src, "diff_weights": weights, "diff_dst": dst, "diff_bias": bias}
        inputs = {Arg.SRC: x, Arg.DIFF_DST: dy}
        outputs = {Arg.DIFF_WEIGHTS: seen(conv_backward_weights(dy, x, geo, w_shape))}
        if has_bias:
            outputs[Arg.DIFF_BIAS] = dy.sum(axis=(0, *range(2, dy.ndim)))
    else:
        fields |= {"src": src, "weights": weights, "dst": dst, "bias": bias}
        inputs = {Arg.SRC: x, Arg.WEIGHTS: seen(w)}
        y = conv_backward_data(x, w, geo, big)
        if has_bias:
            inputs[Arg.BIAS] = b = whole_numbers(rng, (groups * of,))
            y = y + b.reshape(-1, *(1,) * chosen["rank"])
        outputs = {Arg.DST: y}
    return Case(Kind.DECONVOLUTION, direction, fields, inputs, outputs,
                f"kernel:{geo.kernel} groups:{groups}", threads=threads(rng))


_AVERAGES = (lib.NDRT_POOLING_AVG_INCLUDE_PADDING, lib.NDRT_POOLING_AVG_EXCLUDE_PADDING)


def _pooling(chosen: Choice, rng: np.random.Generator) -> Case | None:
    geo, alg, direction = _geometry(chosen, rng), chosen["alg"], chosen["direction"]
    geo = geo._replace(dilate=(1,) * chosen["rank"],
                       pad=tuple(min(p, k - 1) for p, k in zip(geo.pad, geo.kernel, strict=True)))
    geo = geo._replace(pad_end=geo.pad)
    shape = (int(rng.integers(1, 4)), chosen["channels"], *_spatial(geo, rng))
    out = (*shape[:2], *output_dims(shape[2:], geo))
    win = Windows(geo.kernel, geo.stride, geo.pad, shape[2:], out[2:])
    order = chosen["order"] if chosen["order"] != "any" else "last"
    src, dst = layout(shape, order), layout(out, order)
    x, dy = real_numbers(rng, shape), whole_numbers(rng, out)
    fields: dict[str, Any] = {"kernel": geo.kernel, "strides": geo.stride, "pad_l": geo.pad,
                              "pad_r": geo.pad_end, "dilates": (0,) * chosen["rank"], "alg": alg}
    divide_by = divisors(win, alg == _AVERAGES[0])
    y = reduce_windows(x, win, np.add, 0) / divide_by if alg in _AVERAGES else max_windows(x, win)
    number = threads(rng)
    facts = f"alg:{alg}"
    forward = Case(Kind.POOLING, Direction.FORWARD_TRAINING, {**fields, "src": src, "dst": dst},
                   {Arg.SRC: x}, {Arg.DST: y}, facts, 1e-6, number)
    if direction == Direction.FORWARD_TRAINING:
        return forward
    if direction == Direction.FORWARD_INFERENCE:
        return Case(Kind.POOLING, direction, forward.fields, forward.inputs, forward.outputs, facts,
                    1e-6, number)
    dx = (spread_windows(dy / divide_by, win) if alg in _AVERAGES
          else max_backward(dy, x, win))
    return Case(Kind.POOLING, Direction.BACKWARD_DATA, {**fields, "diff_src": src, "diff_dst": dst},
                {Arg.DIFF_DST: dy}, {Arg.DIFF_SRC: dx}, facts, 1e-6, number, forward)


_IMAGES: dict[str, Any] = {"channels": CHANNELS, "filters": (1, 3, 8, 13, 16, 17), "stride": STEPS,
                           "kernel": STEPS, "groups": (1, 2, 0), "order": LAYOUTS,
                           "direction": DIRECTIONS, "rank": (2, 1)}
_WIDE = {**_IMAGES, "channels": MORE_CHANNELS, "filters": (5, 24, 32, 40), "kernel": (1, 3)}
_DEEP = {**_IMAGES, "channels": (1, 3, 7, 8, 15, 16, 17), "filters": (3, 16, 17), "rank": (3,)}

SPACES = (
    Space("convolution", _IMAGES, _convolution),
    Space("convolution, wide", _WIDE, _convolution),
    Space("convolution, 3-D", _DEEP, _convolution),
    Space("deconvolution", {**_IMAGES, "direction": DIRECTIONS[1:]}, _deconvolution),
    Space("deconvolution, 3-D", {**_DEEP, "direction": DIRECTIONS[1:]}, _deconvolution),
    Space("pooling", {"channels": (*CHANNELS, 32, 40), "stride": STEPS, "kernel": STEPS,
                      "order": LAYOUTS[:-1], "rank": (2, 1, 3), "groups": (1,),
                      "alg": (lib.NDRT_POOLING_MAX, *_AVERAGES),
                      "direction": DIRECTIONS[:3]}, _pooling),
)
