"""Cases of products of matrices: inner product and matmul."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.native import lib
from ndarray_rt.storage.desc import any_desc, default_desc, strided_desc, tagged_desc
from ndarray_rt.storage.primitive import Arg, Direction, Kind, eltwise_post

from .case import FLOAT, Case, layout, threads, whole_numbers
from .space import Choice, Space
from .windows import CHANNELS, DIRECTIONS


def _inner_product(chosen: Choice, rng: np.random.Generator) -> Case:
    direction, of, channels = chosen["direction"], chosen["filters"], chosen["channels"]
    spatial = tuple(int(rng.integers(1, 5)) for _ in range(chosen["rank"]))
    shape, w_shape = (chosen["rows"], channels, *spatial), (of, channels, *spatial)
    out = (chosen["rows"], of)
    x, w, dy = (whole_numbers(rng, dims) for dims in (shape, w_shape, out))
    order = chosen["order"] if spatial else "first"
    src, dst = layout(shape, order), default_desc(FLOAT, out)
    # weights as the library has them: by rows, by columns, or as the kernel likes them
    how = rng.random()
    weights = any_desc(FLOAT, w_shape)
    if how < 0.5:
        weights = default_desc(FLOAT, w_shape) if how < 0.25 or spatial else tagged_desc(
            FLOAT, w_shape, "ba")
    has_bias = bool(rng.random() < 0.5) and direction != Direction.BACKWARD_DATA
    bias = default_desc(FLOAT, (of,)) if has_bias else None
    fields: dict[str, Any]
    inputs: dict[int, Any]
    outputs: dict[int, Any]
    flat = w.reshape(of, -1)
    if direction == Direction.BACKWARD_DATA:
        fields = {"diff_src": src, "weights": weights, "diff_dst": dst}
        inputs = {Arg.DIFF_DST: dy, Arg.WEIGHTS: w}
        outputs = {Arg.DIFF_SRC: dy @ flat}
    elif direction == Direction.BACKWARD_WEIGHTS:
        fields = {"src": src, "diff_weights": weights, "diff_dst": dst, "diff_bias": bias}
        inputs = {Arg.SRC: x, Arg.DIFF_DST: dy}
        outputs = {Arg.DIFF_WEIGHTS: dy.T @ x.reshape(len(x), -1)}
        if has_bias:
            outputs[Arg.DIFF_BIAS] = dy.sum(axis=0)
    else:
        fields = {"src": src, "weights": weights, "dst": dst, "bias": bias}
        inputs = {Arg.SRC: x, Arg.WEIGHTS: w}
        y = x.reshape(len(x), -1) @ flat.T
        if has_bias:
            inputs[Arg.BIAS] = b = whole_numbers(rng, (of,))
            y = y + b
        if direction == Direction.FORWARD_INFERENCE and rng.random() < 0.5:
            fields["post_ops"] = [eltwise_post(lib.NDRT_ELTWISE_RELU, 0.0, 0.0)]
            y = np.maximum(y, 0)
        outputs = {Arg.DST: y}
    return Case(Kind.INNER_PRODUCT, direction, fields, inputs, outputs, "", threads=threads(rng))


def _matrix(dims: tuple[int, ...], order: str, rng: np.random.Generator) -> Any:
    """A layout of matrices: by rows, by columns, or by rows with a gap behind each."""
    *batch, rows, columns = dims
    if order == "any":
        return any_desc(FLOAT, dims)
    gap = int(rng.integers(1, 5)) if order == "gaps" else 0
    strides = [1, rows] if order == "columns" else [columns + gap, 1]
    reach = rows * columns if order == "columns" else rows * (columns + gap)
    for count in reversed(batch):
        strides.insert(0, reach)
        reach *= count
    return strided_desc(FLOAT, dims, tuple(strides))


_ORDERS = ("rows", "columns", "gaps", "any")


def _matmul(chosen: Choice, rng: np.random.Generator) -> Case:
    batch = tuple(int(rng.integers(1, 4)) for _ in range(chosen["batch"]))
    m, k, n = chosen["m"], chosen["k"], chosen["n"]
    a_shape, b_shape, y_shape = (*batch, m, k), (*batch, k, n), (*batch, m, n)
    if batch and rng.random() < 0.3:
        b_shape = (*(1,) * len(batch), k, n)
    a, b = whole_numbers(rng, a_shape), whole_numbers(rng, b_shape)
    y = a @ b
    fields: dict[str, Any] = {"src": _matrix(a_shape, chosen["a"], rng),
                              "weights": _matrix(b_shape, chosen["b"], rng),
                              "dst": _matrix(y_shape, str(rng.choice(("rows", "gaps"))), rng)}
    inputs: dict[int, Any] = {Arg.SRC: a, Arg.WEIGHTS: b}
    if rng.random() < 0.3:
        bias = (*(1,) * len(batch), 1, n)
        fields["bias"] = default_desc(FLOAT, bias)
        inputs[Arg.BIAS] = whole_numbers(rng, bias)
        y = y + inputs[Arg.BIAS]
    if rng.random() < 0.3:
        fields["post_ops"] = [eltwise_post(lib.NDRT_ELTWISE_RELU, 0.0, 0.0)]
        y = np.maximum(y, 0)
    return Case(Kind.MATMUL, Direction.NONE, fields, inputs, {Arg.DST: y}, "",
                threads=threads(rng))


_SIZES = (*CHANNELS, 31, 33, 48, 64, 65)
SPACES = (
    Space("inner product", {"channels": (*CHANNELS, 31, 64), "filters": _SIZES,
                            "rows": (1, 2, 3, 5, 7, 16, 17, 33), "rank": (0, 1, 2),
                            "order": ("last", "first", "16", "8", "any"),
                            "direction": DIRECTIONS}, _inner_product),
    Space("matmul", {"m": _SIZES, "n": _SIZES, "k": _SIZES, "batch": (0, 1, 2), "a": _ORDERS,
                     "b": _ORDERS}, _matmul),
)
