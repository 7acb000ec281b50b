"""Deconvolutions and matrix products with post-ops, against their parts written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Reference

from .deconvolution import spread


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def deconv(post_ops: str, after: Reference, *operands: tuple[int, ...],
           data: tuple[int, ...] = (2, 4, 5, 5), filters: int = 20, groups: int = 1,
           bias: bool = True) -> Case:
    inputs = [Input(data), Input((data[1], filters // groups, 2, 2), weight_groups=groups)]
    if bias:
        inputs.append(Input((filters,)))

    def reference(x: Array, w: Array, *rest: Array) -> Array:
        b, given = (rest[0], rest[1:]) if bias else (None, rest)
        out = tuple(2 * dim for dim in data[2:])
        return after(spread(x, w, b, out, (2, 2), (1, 1), (0, 0), groups), *given)
    return Case("_fused_Deconvolution",
                {"kernel": (2, 2), "stride": (2, 2), "num_filter": filters, "num_group": groups,
                 "no_bias": not bias, "post_ops": post_ops},
                [*inputs, *map(Input, operands)], reference=reference, native=True,
                rtol={"float32": 1e-4}, atol={"float32": 1e-4})


def dot(post_ops: str, after: Reference, a: tuple[int, ...], b: tuple[int, ...],
        *operands: tuple[int, ...], native: bool = True, **params: bool) -> Case:
    def reference(x: Array, y: Array, *rest: Array) -> Array:
        x = np.moveaxis(x, 0, -1) if params.get("transpose_a") else x
        y = np.moveaxis(y, -1, 0) if params.get("transpose_b") else y
        return after(np.tensordot(x, y, 1), *rest)
    return Case("_fused_dot", {"post_ops": post_ops, **params},
                [Input(a), Input(b), *map(Input, operands)], reference=reference, native=native,
                rtol={"float32": 1e-4}, atol={"float32": 1e-4})


def apart(x: Array, heads: int) -> Array:
    return np.stack([part[:, h * part.shape[1] // heads:(h + 1) * part.shape[1] // heads]
                     for part in x for h in range(heads)])


def together(x: Array, heads: int) -> Array:
    return np.stack([np.concatenate(list(x[i:i + heads]), axis=1)
                     for i in range(0, len(x), heads)])


def products(post_ops: str, after: Reference, a: tuple[int, ...], b: tuple[int, ...],
             *operands: tuple[int, ...], native: bool = True, **params: Any) -> Case:
    heads = params.get("heads", 0)

    def reference(x: Array, y: Array, *rest: Array) -> Array:
        x = apart(x, heads) if params.get("split_a") else x
        y = apart(y, heads) if params.get("split_b") else y
        made = np.einsum("...ij,...jk->...ik",
                         np.swapaxes(x, -1, -2) if params.get("transpose_a") else x,
                         np.swapaxes(y, -1, -2) if params.get("transpose_b") else y)
        made = after(made, *rest)
        return together(made, heads) if params.get("join") else made
    return Case("_fused_batch_dot", {"post_ops": post_ops, **params},
                [Input(a), Input(b), *map(Input, operands)], reference=reference, native=native,
                rtol={"float32": 1e-4}, atol={"float32": 1e-4})


REDUCE: dict[str, Reference] = {"max": np.max, "avg": np.mean, "sum": np.sum}


def pool(post_ops: str, after: Reference, kind: str, data: tuple[int, ...] = (2, 20, 4, 6),
         whole: bool = False) -> Case:
    def reference(x: Array) -> Array:
        if whole:
            return after(x.mean(axis=(2, 3), keepdims=True))
        parts = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2)
        reduce = REDUCE[kind]
        return after(reduce(parts, axis=(3, 5)))
    params: dict[str, Any] = {"global_pool": True} if whole else {
        "kernel": (2, 2), "stride": (2, 2)}
    return Case("_fused_Pooling", {"pool_type": kind, "post_ops": post_ops, **params},
                [Input(data)], reference=reference, native=True, rtol={"float32": 1e-4},
                atol={"float32": 1e-5})


def adaptive(post_ops: str, after: Reference, data: tuple[int, ...]) -> Case:
    return Case("_fused__contrib_AdaptiveAvgPooling2D", {"post_ops": post_ops}, [Input(data)],
                reference=lambda x: after(x.mean(axis=(2, 3), keepdims=True)), native=True,
                rtol={"float32": 1e-4}, atol={"float32": 1e-5})


OUT = (2, 20, 10, 10)
SPLIT: dict[str, Any] = {"heads": 2, "split_a": True, "split_b": True}

CASES = [
    deconv("relu", relu),
    deconv("linear:0.5:1.0,tanh", lambda y: np.tanh(0.5 * y + 1), groups=2, bias=False),
    deconv("add,relu", lambda y, a: relu(y + a), OUT),
    deconv("mul,add", lambda y, m, a: y * m + a, (1, 20, 1, 1), OUT, bias=False),
    pool("relu", relu, "max"),
    pool("linear:2.0:1.0,tanh", lambda y: np.tanh(2 * y + 1), "avg"),
    pool("relu", relu, "sum"),
    pool("hardsigmoid:0.5:0.25", lambda y: np.clip(0.5 * y + 0.25, 0, 1), "avg", whole=True),
    adaptive("relu", relu, (2, 20, 4, 6)),
    adaptive("linear:2.0:1.0,tanh", lambda y: np.tanh(2 * y + 1), (1, 3, 5, 7)),
    dot("relu", relu, (3, 4), (4, 20)),
    dot("add,relu", lambda y, a: relu(y + a), (3, 4), (4, 20), (3, 20)),
    dot("add,tanh", lambda y, a: np.tanh(y + a), (3, 4), (20, 4), (1, 20), transpose_b=True),
    dot("linear:0.5:0.0,mul", lambda y, m: 0.5 * y * m, (4, 3), (4, 20), (1, 1),
        transpose_a=True),
    dot("relu", relu, (2, 3, 4), (4, 5)),
    dot("add", lambda y, a: y + a, (2, 3, 4), (4, 5), (1, 1, 5), native=False),
    products("linear:0.25:0.0", lambda y: 0.25 * y, (4, 3, 5), (4, 5, 6)),
    products("linear:0.25:0.0,add", lambda y, a: 0.25 * y + a, (4, 3, 5), (4, 6, 5), (4, 3, 6),
             transpose_b=True),
    products("add", lambda y, a: y + a, (4, 3, 5), (4, 5, 6), (4, 1, 6)),
    products("add,relu", lambda y, a: relu(y + a), (4, 5, 3), (4, 5, 6), (1, 1, 6),
             transpose_a=True),
    products("relu", relu, (2, 3, 4, 5), (2, 3, 5, 2)),
    products("linear:0.25:0.0", lambda y: 0.25 * y, (3, 4, 10), (3, 6, 10), transpose_b=True,
             **SPLIT),
    products("add", lambda y, a: y + a, (3, 4, 10), (3, 6, 10), (6, 4, 6), transpose_b=True,
             **SPLIT),
    products("add", lambda y, a: y + a, (3, 4, 10), (3, 6, 10), (1, 1, 6), transpose_b=True,
             **SPLIT),
    products("tanh", np.tanh, (3, 4, 10), (3, 4, 10), transpose_a=True, **SPLIT),
    products("", lambda y: y, (6, 4, 5), (3, 5, 8), heads=2, split_b=True, join=True),
    products("relu", relu, (3, 4, 10), (6, 5, 4), heads=2, split_a=True, join=True),
    products("", lambda y: y, (6, 4, 5), (6, 5, 4), heads=3, join=True),
    products("", lambda y: y, (1, 4, 5), (1, 5, 4), heads=1, join=True),
]
