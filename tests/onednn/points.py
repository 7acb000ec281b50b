"""Cases of what goes element by element, joins arrays, sums them up or moves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ndarray_rt.errors import NdrtError
from ndarray_rt.native import lib
from ndarray_rt.storage.desc import MemDesc, tagged_desc
from ndarray_rt.storage.primitive import Arg, Direction, Kind

from .case import FLOAT, Array, Case, layout, real_numbers, threads, whole_numbers
from .norms import _CHANNELS, _ORDERS, TOLERANCE, _shape
from .space import Choice, Space

_DIRECTIONS = (Direction.FORWARD_INFERENCE, Direction.FORWARD_TRAINING, Direction.BACKWARD)


def _logistic(x: Array) -> Array:
    made: Array = special.expit(x)
    return made


# the function and its slope, of parameters 0.5 and 0.25
_FUNCTIONS: dict[int, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    lib.NDRT_ELTWISE_RELU: (lambda x: np.where(x > 0, x, x * 0.5),
                            lambda x: np.where(x > 0, 1, 0.5)),
    lib.NDRT_ELTWISE_TANH: (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    lib.NDRT_ELTWISE_ELU: (lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)),
                           lambda x: np.where(x > 0, 1, 0.5 * np.exp(x))),
    lib.NDRT_ELTWISE_SQUARE: (np.square, lambda x: 2 * x),
    lib.NDRT_ELTWISE_ABS: (np.abs, np.sign),
    lib.NDRT_ELTWISE_LINEAR: (lambda x: 0.5 * x + 0.25, lambda x: np.full(x.shape, 0.5)),
    lib.NDRT_ELTWISE_SOFT_RELU: (lambda x: np.log1p(np.exp(0.5 * x)) / 0.5,
                                 lambda x: _logistic(0.5 * x)),
    lib.NDRT_ELTWISE_LOGISTIC: (_logistic, lambda x: _logistic(x) * (1 - _logistic(x))),
    lib.NDRT_ELTWISE_EXP: (np.exp, np.exp),
    lib.NDRT_ELTWISE_GELU_ERF: (lambda x: x * special.ndtr(x),
                                lambda x: special.ndtr(x) + x * np.exp(-x * x / 2)
                                / np.sqrt(2 * np.pi)),
    lib.NDRT_ELTWISE_SWISH: (lambda x: x * _logistic(0.5 * x),
                             lambda x: _logistic(0.5 * x)
                             + 0.5 * x * _logistic(0.5 * x) * (1 - _logistic(0.5 * x))),
    lib.NDRT_ELTWISE_CLIP: (lambda x: np.clip(x, 0.5, 0.75),
                            lambda x: ((x > 0.5) & (x <= 0.75)) * 1.0),
    lib.NDRT_ELTWISE_ROUND: (np.rint, None),  # type: ignore[dict-item]
}


def _eltwise(chosen: Choice, rng: np.random.Generator) -> Case | None:
    shape, alg, direction = _shape(chosen, rng), chosen["alg"], chosen["direction"]
    function, slope = _FUNCTIONS[alg]
    x, dy = real_numbers(rng, shape), real_numbers(rng, shape)
    alpha, beta = (0.5, 0.75 if alg == lib.NDRT_ELTWISE_CLIP else 0.25)
    src = layout(shape, chosen["order"])
    fields: dict[str, Any] = {"alg": alg, "alpha": alpha, "beta": beta, "src": src}
    facts = f"alg:{alg:#x}"
    wide = x.astype(np.float64)
    if direction != Direction.BACKWARD:
        return Case(Kind.ELTWISE, direction, {**fields, "dst": src}, {Arg.SRC: x},
                    {Arg.DST: function(wide)}, facts, TOLERANCE, threads(rng))
    if slope is None:
        return None
    return Case(Kind.ELTWISE, direction, {**fields, "diff_src": src, "diff_dst": src},
                {Arg.SRC: x, Arg.DIFF_DST: dy}, {Arg.DIFF_SRC: dy * slope(wide)}, facts, TOLERANCE,
                threads(rng))


_BINARY: dict[int, Callable[[Array, Array], Array]] = {
    lib.NDRT_BINARY_ADD: np.add, lib.NDRT_BINARY_SUB: np.subtract,
    lib.NDRT_BINARY_MUL: np.multiply, lib.NDRT_BINARY_DIV: np.divide,
    lib.NDRT_BINARY_MAX: np.maximum, lib.NDRT_BINARY_GE: np.greater_equal,
    lib.NDRT_BINARY_NE: np.not_equal,
}


def _broadcast(shape: tuple[int, ...], how: str, rng: np.random.Generator) -> tuple[int, ...]:
    if how == "channels":
        return tuple(n if axis == 1 else 1 for axis, n in enumerate(shape))
    if how == "some":
        return tuple(n if rng.random() < 0.5 else 1 for n in shape)
    return shape if how == "none" else (1,) * len(shape)


def _binary(chosen: Choice, rng: np.random.Generator) -> Case:
    shape = _shape(chosen, rng)
    other = _broadcast(shape, chosen["broadcast"], rng)
    a, b = whole_numbers(rng, shape), whole_numbers(rng, other)
    b[b == 0] = 1
    order = chosen["order"]
    second = layout(other, order if other == shape or rng.random() < 0.5 else "first")
    first = layout(shape, order)
    y = _BINARY[chosen["alg"]](a, b).astype(np.float64)
    return Case(Kind.BINARY, Direction.NONE, {"alg": chosen["alg"], "srcs": (first, second),
                                              "dst": first},
                {Arg.SRC: a, Arg.SRC_1: b}, {Arg.DST: y}, f"alg:{chosen['alg']:#x} b:{second!r}",
                1e-6, threads(rng))


def prelu(chosen: Choice, rng: np.random.Generator) -> Case:
    shape, direction = _shape(chosen, rng), chosen["direction"]
    w_shape = _broadcast(shape, chosen["broadcast"], rng)
    x, w, dy = whole_numbers(rng, shape), whole_numbers(rng, w_shape), whole_numbers(rng, shape)
    x[x == 0] = 1
    src = layout(shape, chosen["order"])
    weights = tagged_desc(FLOAT, w_shape, "any")
    fields: dict[str, Any] = {"src": src, "weights": weights}
    if direction != Direction.BACKWARD:
        return Case(Kind.PRELU, direction, {**fields, "dst": src}, {Arg.SRC: x, Arg.WEIGHTS: w},
                    {Arg.DST: np.where(x > 0, x, x * w)}, f"slopes:{w_shape}", 0.0, threads(rng))
    dw = np.where(x > 0, 0, dy * x)
    dw = dw.sum(axis=tuple(a for a in range(x.ndim) if w_shape[a] == 1), keepdims=True)
    return Case(Kind.PRELU, direction,
                {**fields, "diff_src": src, "diff_weights": weights, "diff_dst": src},
                {Arg.SRC: x, Arg.WEIGHTS: w, Arg.DIFF_DST: dy},
                {Arg.DIFF_SRC: np.where(x > 0, dy, dy * w), Arg.DIFF_WEIGHTS: dw},
                f"slopes:{w_shape}", 0.0, threads(rng))


def _several(shape: tuple[int, ...], count: int, axis: int, rng: np.random.Generator,
             ) -> list[tuple[int, ...]]:
    """Shapes that differ along an axis."""
    return [tuple(int(rng.integers(1, 18)) if at == axis else n for at, n in enumerate(shape))
            for _ in range(count)]


def _concat(chosen: Choice, rng: np.random.Generator) -> Case:
    shape = _shape(chosen, rng)
    axis = 1 if rng.random() < 0.6 else int(rng.integers(len(shape)))
    shapes = _several(shape, chosen["count"], axis, rng)
    parts = [whole_numbers(rng, dims) for dims in shapes]
    y = np.concatenate(parts, axis)
    srcs = tuple(layout(dims, chosen["order"]) for dims in shapes)
    inputs = {Arg.MULTIPLE_SRC + at: part for at, part in enumerate(parts)}
    return Case(Kind.CONCAT, Direction.NONE,
                {"srcs": srcs, "dst": layout(y.shape, chosen["order"]), "axis": axis}, inputs,
                {Arg.DST: y}, f"axis:{axis} {srcs}", 0.0, threads(rng))


def _sum(chosen: Choice, rng: np.random.Generator) -> Case:
    shape = _shape(chosen, rng)
    parts = [whole_numbers(rng, shape) for _ in range(chosen["count"])]
    src = layout(shape, chosen["order"])
    return Case(Kind.SUM, Direction.NONE,
                {"srcs": (src,) * len(parts), "scales": (1.0,) * len(parts), "dst": src},
                {Arg.MULTIPLE_SRC + at: part for at, part in enumerate(parts)},
                {Arg.DST: np.sum(parts, axis=0)}, f"{src!r}", 0.0, threads(rng))


_REDUCTIONS: dict[int, Callable[..., Array]] = {
    lib.NDRT_REDUCTION_SUM: np.sum, lib.NDRT_REDUCTION_MEAN: np.mean,
    lib.NDRT_REDUCTION_MAX: np.max, lib.NDRT_REDUCTION_MIN: np.min}


def _reduction(chosen: Choice, rng: np.random.Generator) -> Case | None:
    shape = _shape(chosen, rng)
    axes = tuple(axis for axis in range(len(shape)) if rng.random() < 0.5) or (len(shape) - 1,)
    out = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    if out == shape:
        return None
    x = whole_numbers(rng, shape)
    y = _REDUCTIONS[chosen["alg"]](x.astype(np.float64), axis=axes, keepdims=True)
    return Case(Kind.REDUCTION, Direction.NONE,
                {"alg": chosen["alg"], "src": layout(shape, chosen["order"]),
                 "dst": layout(out, chosen["order"])}, {Arg.SRC: x}, {Arg.DST: y},
                f"axes:{axes}", 1e-6, threads(rng))


_LETTERS = "abcde"


def _any_layout(dims: tuple[int, ...], rng: np.random.Generator) -> MemDesc:
    """Axes in any order, some of them in blocks."""
    order = "".join(rng.permutation(list(_LETTERS[:len(dims)])))
    blocked = [int(rng.integers(len(dims)))] if rng.random() < 0.6 else []
    if blocked and rng.random() < 0.4 and len(dims) > 1:
        blocked.append(int(rng.choice([a for a in range(len(dims)) if a != blocked[0]])))
    inner = ""
    for axis in blocked:
        order = order.replace(_LETTERS[axis], _LETTERS[axis].upper())
        inner += f"{rng.choice((4, 8, 16))}{_LETTERS[axis]}"
    return tagged_desc(FLOAT, dims, order + inner)


_ORDINARY = ("last", "first", "16", "8")


def _reorder(chosen: Choice, rng: np.random.Generator) -> Case | None:
    shape = _shape(chosen, rng)
    descs = []
    for how in (chosen["source"], chosen["destination"]):
        try:
            descs.append(_any_layout(shape, rng) if how == "any" else layout(shape, how))
        except NdrtError:
            return None  # oneDNN has no name for it
    x = whole_numbers(rng, shape)
    fields: dict[str, Any] = {"src": descs[0], "dst": descs[1]}
    inputs: dict[int, Array] = {Arg.SRC: x}
    y = x
    if rng.random() < 0.2:
        fields["post_sum"] = True
        inputs[Arg.DST] = whole_numbers(rng, shape)
        y = y + inputs[Arg.DST]
    return Case(Kind.REORDER, Direction.NONE, fields, inputs, {Arg.DST: y},
                f"add:{'post_sum' in fields}", 0.0, threads(rng))


_IMAGES: dict[str, Any] = {"channels": _CHANNELS, "rank": (0, 1, 2, 3), "order": _ORDERS}
_HOW = ("channels", "none", "all", "some")
SPACES = (
    Space("eltwise", {**_IMAGES, "alg": tuple(_FUNCTIONS), "direction": _DIRECTIONS}, _eltwise),
    Space("binary", {**_IMAGES, "alg": tuple(_BINARY), "broadcast": _HOW}, _binary),
    Space("prelu", {**_IMAGES, "broadcast": _HOW, "direction": _DIRECTIONS[1:]}, prelu),
    Space("concat", {**_IMAGES, "count": (1, 2, 3, 5)}, _concat),
    Space("sum", {**_IMAGES, "count": (1, 2, 3, 8)}, _sum),
    Space("reduction", {**_IMAGES, "alg": tuple(_REDUCTIONS)}, _reduction),
    Space("reorder", {"channels": _CHANNELS, "rank": (2, 1, 3), "source": (*_ORDINARY, "any"),
                      "destination": (*_ORDINARY, "any")}, _reorder),
)
