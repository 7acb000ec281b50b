"""Cases of normalisations: batch, layer and local response norm, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.native import lib
from ndarray_rt.storage.desc import default_desc, tagged_desc
from ndarray_rt.storage.primitive import Arg, Direction, Kind

from .case import FLOAT, Array, Case, layout, real_numbers, threads
from .space import Choice, Space
from .windows import CHANNELS

EPSILON = 1e-3
TOLERANCE = 2e-5
_FORWARD = (Direction.FORWARD_INFERENCE, Direction.FORWARD_TRAINING)
_DIRECTIONS = (*_FORWARD, Direction.BACKWARD)
_ORDERS = ("last", "first", "16", "8")


def _shape(chosen: Choice, rng: np.random.Generator) -> tuple[int, ...]:
    largest = {0: 1, 1: 30, 2: 9, 3: 5}[chosen["rank"]]
    spatial = (int(rng.integers(1, largest + 1)) for _ in range(chosen["rank"]))
    return (int(rng.integers(1, 5)), chosen["channels"], *spatial)


def _normalised(x: Array, axes: tuple[int, ...], mean: Array, variance: Array, scale: Array,
                shift: Array, dy: Array, has_own: bool) -> tuple[Array, Array, Array, Array]:
    """Output, and the gradients of data, scale and shift; statistics are the data's own or
    given."""
    inverse = 1 / np.sqrt(variance + EPSILON)
    normed = (x - mean) * inverse
    along = tuple(axis for axis in range(x.ndim) if scale.shape[axis] == 1)
    d_scale = (dy * normed).sum(axis=along, keepdims=True)
    d_shift = dy.sum(axis=along, keepdims=True)
    g = dy * scale
    dx = g * inverse
    if has_own:
        dx = inverse * (g - g.mean(axis=axes, keepdims=True)
                        - normed * (g * normed).mean(axis=axes, keepdims=True))
    return normed * scale + shift, dx, d_scale, d_shift


def _norm(kind: Kind, src: Any, x: Array, axes: tuple[int, ...], vector: tuple[int, ...],
          chosen: Choice, rng: np.random.Generator) -> Case | None:
    direction = chosen["direction"]
    flags = int(chosen["flags"])
    if direction == Direction.BACKWARD and not flags & (lib.NDRT_USE_SCALE | lib.NDRT_USE_SHIFT):
        direction = Direction.BACKWARD_DATA
    wide = x.astype(np.float64)
    own_mean, own_variance = wide.mean(axis=axes, keepdims=True), wide.var(axis=axes,
                                                                           keepdims=True)
    is_given = bool(flags & lib.NDRT_USE_GLOBAL_STATS)
    mean, variance = own_mean, own_variance
    if is_given:
        mean = real_numbers(rng, mean.shape).astype(np.float64)
        variance = np.abs(real_numbers(rng, variance.shape)).astype(np.float64) + 0.5
    scale = real_numbers(rng, vector) if flags & lib.NDRT_USE_SCALE else np.ones(vector)
    shift = real_numbers(rng, vector) if flags & lib.NDRT_USE_SHIFT else np.zeros(vector)
    dy = real_numbers(rng, x.shape)
    y, dx, d_scale, d_shift = _normalised(wide, axes, mean, variance, scale, shift, dy,
                                          not is_given)
    inputs: dict[int, Array] = {Arg.SRC: x}
    outputs: dict[int, Array] = {}
    is_forward = direction in _FORWARD
    if flags & lib.NDRT_USE_SCALE:
        inputs[Arg.SCALE] = scale
    # a layer norm asks for the shift also where no gradient depends on it
    if flags & lib.NDRT_USE_SHIFT and (is_forward or kind == Kind.LAYER_NORM):
        inputs[Arg.SHIFT] = shift
    if is_forward:
        outputs[Arg.DST] = y
        fields: dict[str, Any] = {"src": src, "dst": src}
    else:
        inputs[Arg.DIFF_DST] = dy
        outputs[Arg.DIFF_SRC] = dx
        if direction == Direction.BACKWARD:
            if flags & lib.NDRT_USE_SCALE:
                outputs[Arg.DIFF_SCALE] = d_scale
            if flags & lib.NDRT_USE_SHIFT:
                outputs[Arg.DIFF_SHIFT] = d_shift
        fields = {"src": src, "diff_src": src, "diff_dst": src}
    if is_given or not is_forward:
        inputs[Arg.MEAN], inputs[Arg.VARIANCE] = mean, variance
    elif direction == Direction.FORWARD_TRAINING:
        outputs[Arg.MEAN], outputs[Arg.VARIANCE] = mean, variance
    return Case(kind, direction, {**fields, "epsilon": EPSILON, "flags": flags}, inputs, outputs,
                f"flags:{flags}", 5e-5, threads(rng))


def _batch_norm(chosen: Choice, rng: np.random.Generator) -> Case | None:
    shape = _shape(chosen, rng)
    axes = (0, *range(2, len(shape)))
    if np.prod(shape) // shape[1] == 1:
        return None  # a variance of 0 divides errors by the root of epsilon
    return _norm(Kind.BATCH_NORM, layout(shape, chosen["order"]), real_numbers(rng, shape), axes,
                 (1, shape[1], *(1,) * (len(shape) - 2)), chosen, rng)


def _layer_norm(chosen: Choice, rng: np.random.Generator) -> Case | None:
    shape = (*(int(rng.integers(1, 8)) for _ in range(chosen["rank"])), chosen["channels"])
    if shape[-1] == 1:
        return None
    return _norm(Kind.LAYER_NORM, default_desc(FLOAT, shape), real_numbers(rng, shape),
                 (len(shape) - 1,), (*(1,) * chosen["rank"], shape[-1]), chosen, rng)


def lrn(chosen: Choice, rng: np.random.Generator) -> Case:
    """y = x s^-beta with s = k + alpha / size times the sum of the squares of neighbours."""
    shape, size, direction = _shape(chosen, rng), chosen["size"], chosen["direction"]
    alpha, beta, k = 0.5, 0.75, 1.5
    x, dy = real_numbers(rng, shape), real_numbers(rng, shape)
    half = (size - 1) // 2

    def near(values: Array) -> Array:
        padded = np.pad(values, [(0, 0), (half, half), *[(0, 0)] * (x.ndim - 2)])
        made = np.zeros(shape)
        for at in range(2 * half + 1):
            made += padded[:, at:at + shape[1]]
        return made
    wide = x.astype(np.float64)
    s = k + alpha / size * near(wide ** 2)
    y = wide * s ** -beta
    dx = dy * s ** -beta - 2 * alpha * beta / size * wide * near(dy * y / s)
    src = layout(shape, chosen["order"])
    fields = {"alg": lib.NDRT_LRN_ACROSS_CHANNELS, "local_size": size, "alpha": alpha, "beta": beta,
              "k": k, "src": src}
    number = threads(rng)
    forward = Case(Kind.LRN, Direction.FORWARD_TRAINING, {**fields, "dst": src}, {Arg.SRC: x},
                   {Arg.DST: y}, f"size:{size}", TOLERANCE, number)
    if direction in _FORWARD:
        return Case(Kind.LRN, direction, forward.fields, forward.inputs, forward.outputs,
                    forward.facts, TOLERANCE, number)
    return Case(Kind.LRN, Direction.BACKWARD_DATA, {**fields, "diff_src": src, "diff_dst": src},
                {Arg.SRC: x, Arg.DIFF_DST: dy}, {Arg.DIFF_SRC: dx}, forward.facts, TOLERANCE,
                number, forward)


def softmax(chosen: Choice, rng: np.random.Generator) -> Case:
    shape = _shape(chosen, rng)
    axis = int(rng.integers(len(shape)))
    is_log = chosen["alg"] == lib.NDRT_SOFTMAX_LOG
    x, dy = real_numbers(rng, shape), real_numbers(rng, shape)
    e = np.exp(x.astype(np.float64))
    p = e / e.sum(axis=axis, keepdims=True)
    y = np.log(p) if is_log else p
    src = layout(shape, chosen["order"]) if len(shape) > 2 else tagged_desc(FLOAT, shape, "ab")
    fields: dict[str, Any] = {"alg": chosen["alg"], "axis": axis, "dst": src}
    if chosen["direction"] in _FORWARD:
        return Case(Kind.SOFTMAX, chosen["direction"], {**fields, "src": src}, {Arg.SRC: x},
                    {Arg.DST: y}, f"axis:{axis} alg:{chosen['alg']}", TOLERANCE, threads(rng))
    dx = (dy - p * dy.sum(axis=axis, keepdims=True) if is_log
          else p * (dy - (dy * p).sum(axis=axis, keepdims=True)))
    return Case(Kind.SOFTMAX, Direction.BACKWARD_DATA, {**fields, "diff_src": src, "diff_dst": src},
                {Arg.DST: y, Arg.DIFF_DST: dy}, {Arg.DIFF_SRC: dx},
                f"axis:{axis} alg:{chosen['alg']}", TOLERANCE, threads(rng))


_CHANNELS = (*CHANNELS, 24, 31, 32, 33, 64, 65)
SPACES = (
    Space("batch norm", {"channels": _CHANNELS, "rank": (0, 1, 2, 3), "order": _ORDERS,
                         "flags": range(8), "direction": _DIRECTIONS}, _batch_norm),
    Space("layer norm", {"channels": (*_CHANNELS, 130, 257), "rank": (1, 2, 3),
                         "flags": range(8), "direction": _DIRECTIONS}, _layer_norm),
    Space("lrn", {"channels": _CHANNELS, "rank": (2, 1, 3), "order": _ORDERS, "size": (3, 5, 7, 9),
                  "direction": _DIRECTIONS}, lrn),
    Space("softmax", {"channels": (*_CHANNELS, 130, 257), "rank": (0, 1, 2, 3), "order": _ORDERS,
                      "alg": (lib.NDRT_SOFTMAX_ACCURATE, lib.NDRT_SOFTMAX_LOG),
                      "direction": _DIRECTIONS}, softmax),
)
