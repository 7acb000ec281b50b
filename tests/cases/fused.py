"""Fused operators against their parts written out."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Reference

from .batch_norm import normalize
from .convolution import convolve
from .fully_connected import transform


def elu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def gelu(x: Array) -> Array:
    from math import erf
    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def conv(post_ops: str, after: Reference, operands: tuple[tuple[int, ...], ...] = (),
         data: tuple[int, ...] = (2, 3, 5, 5), filters: int = 20, groups: int = 1,
         bias: bool = True, kernel: tuple[int, ...] = (3, 3), note: str = "") -> Case:
    weight = (filters, data[1] // groups, *kernel)
    inputs = [Input(data), Input(weight, weight_groups=groups)]
    if bias:
        inputs.append(Input((filters,)))
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)

    def reference(x: Array, w: Array, *rest: Array) -> Array:
        b, given = (rest[0], rest[1:]) if bias else (None, rest)
        return after(convolve(x, w, b, ones, ones, zeros, groups), *given)
    return Case("_fused_Convolution",
                {"kernel": kernel, "num_filter": filters, "num_group": groups,
                 "no_bias": not bias, "post_ops": post_ops},
                [*inputs, *map(Input, operands)], reference=reference, native=True,
                rtol={"float32": 1e-4}, atol={"float32": 1e-4}, note=note)


def dense(post_ops: str, after: Reference, operands: tuple[tuple[int, ...], ...] = (),
          data: tuple[int, ...] = (3, 4), hidden: int = 20, flatten: bool = True,
          bias: bool = True, native: bool = True, note: str = "") -> Case:
    features = int(np.prod(data[1:])) if flatten else data[-1]
    inputs = [Input(data), Input((hidden, features), weight_groups=1)]
    if bias:
        inputs.append(Input((hidden,)))

    def reference(x: Array, w: Array, *rest: Array) -> Array:
        b, given = (rest[0], rest[1:]) if bias else (None, rest)
        return after(transform(x, w, b, flatten), *given)
    return Case("_fused_FullyConnected",
                {"num_hidden": hidden, "flatten": flatten, "no_bias": not bias,
                 "post_ops": post_ops},
                [*inputs, *map(Input, operands)], reference=reference, native=native,
                rtol={"float32": 1e-4}, atol={"float32": 1e-4}, note=note)


def norm(post_ops: str, after: Reference, data: tuple[int, ...], fix: bool = False) -> Case:
    channels = data[1]

    def reference(x: Array, *rest: Array) -> Array:
        return after(normalize(x, *rest, axis=1, eps=1e-3, fix=fix, batch=False)[0])
    return Case("_fused_BatchNorm", {"fix_gamma": fix, "post_ops": post_ops},
                [data, (channels,), (channels,)],
                [(channels,), Input((channels,), kind="positive")], reference=reference,
                native=True, rtol={"float32": 1e-4}, atol={"float32": 1e-4})


def fold(weight: tuple[int, ...], channels: int, transposed: bool = False, groups: int = 1,
         bias: bool = True, fix: bool = False) -> Case:
    vectors = [(channels,)] * (4 if bias else 3)
    params = {"eps": 1e-3, "fix_gamma": fix, "no_bias": not bias, "num_group": groups,
              "transposed": transposed}

    def reference(w: Array, *rest: Array) -> tuple[Array, Array]:
        b = rest[0] if bias else np.zeros(channels)
        gamma, beta, mean, var = rest[-4:]
        folded, shift = np.array(w), np.empty(channels)
        for c in range(channels):
            scale = (1.0 if fix else gamma[c]) / np.sqrt(var[c] + 1e-3)
            shift[c] = (b[c] - mean[c]) * scale + beta[c]
            if transposed:
                per_in, per_out = w.shape[0] // groups, w.shape[1]
                group, at = divmod(c, per_out)
                folded[group * per_in:(group + 1) * per_in, at] *= scale
            else:
                folded[c] *= scale
        return folded, shift
    return Case("_fold_batch_norm", params,
                [weight, *vectors, Input((channels,), kind="positive")], reference=reference,
                native=True)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


OUT = (2, 20, 3, 3)

CASES = [
    *(conv(f"{name}relu", after, operands, (2, 20, 6, 1), kernel=(2, 1), note="a column")
      for name, after, operands in (
          ("", relu, ()), ("add,", lambda y, a: relu(y + a), ((2, 20, 5, 1),)),
          ("mul,", lambda y, a: relu(y * a), ((1, 20, 1, 1),)))),
    conv("", lambda y: y),
    conv("relu", relu),
    conv("clip:0.0:6.0", lambda y: np.clip(y, 0, 6), bias=False),
    conv("relu", relu, data=(2, 16, 5, 5), filters=16, groups=16, note="depthwise"),
    conv("clip:-0.5:6.0", lambda y: np.clip(y, -0.5, 6), filters=32, note="few channels"),
    conv("relu", relu, data=(2, 48, 4, 4), kernel=(1, 1), note="pixels"),
    conv("add,relu", lambda y, a: relu(y + a), ((2, 20, 4, 4),), data=(2, 48, 4, 4),
         kernel=(1, 1), note="pixels"),
    conv("relu:0.2:0.0", lambda y: np.where(y > 0, y, 0.2 * y), data=(1, 4, 5, 5), groups=2),
    conv("elu:1.5:0.0", lambda y: elu(y, 1.5)),
    conv("sigmoid", lambda y: 1 / (1 + np.exp(-y)), note="padded blocks must stay zero"),
    conv("gelu", gelu, data=(1, 20, 4, 4), filters=16, kernel=(1, 1)),
    conv("gelu_tanh", lambda y: 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi)
                                                      * (y + 0.044715 * y ** 3)))),
    conv("swish:1.0:0.0", lambda y: y / (1 + np.exp(-y))),
    conv("linear:2.0:-1.0,tanh", lambda y: np.tanh(2 * y - 1)),
    conv("add", lambda y, a: y + a, (OUT,)),
    conv("add,relu", lambda y, a: relu(y + a), (OUT,)),
    conv("relu,add", lambda y, a: relu(y) + a, (OUT,), bias=False),
    conv("mul,add,relu", lambda y, m, a: relu(y * m + a), ((1, 20, 1, 1), OUT)),
    conv("add,add", lambda y, a, b: y + a + b, (OUT, OUT)),
    conv("sub", lambda y, a: y - a, (OUT,)),
    conv("div", lambda y, a: y / (a + 0), ((1, 20, 1, 1),), note="per channel"),
    conv("add", lambda y, a: y + a, ((1, 1, 1, 1),), note="one number"),
    conv("add,relu", lambda y, a: relu(y + a), ((2, 8, 3),), data=(2, 3, 5), kernel=(3,),
         filters=8),
    *(conv(chain, after, operands, data=(2, 20, 3, 4), filters=16, kernel=(1, 1),
           note="one pixel")
      for chain, after, operands in (
          ("relu", relu, ()),
          ("add,relu", lambda y, a: relu(y + a), ((2, 16, 3, 4),)),
          ("mul,add", lambda y, m, a: y * m + a, ((1, 16, 1, 1), (2, 16, 3, 4))),
          ("sub", lambda y, a: y - a, ((1, 1, 1, 1),)))),
    conv("add", lambda y, a: y + a, ((1, 4, 5),), data=(1, 5, 5), filters=4, kernel=(1,),
         bias=False, note="one pixel"),
    dense("relu", relu),
    dense("add,relu", lambda y, a: relu(y + a), ((3, 20),)),
    dense("sigmoid,mul", lambda y, m: m / (1 + np.exp(-y)), ((1, 20),), bias=False),
    dense("gelu", gelu, data=(2, 3, 4), flatten=False),
    dense("add", lambda y, a: y + a, ((2, 3, 20),), data=(2, 3, 4), flatten=False),
    dense("add", lambda y, a: y + a, ((1, 1, 20),), data=(2, 3, 4), flatten=False),
    dense("add", lambda y, a: y + a, ((2, 1, 20),), data=(2, 3, 4), flatten=False, native=False),
    dense("add", lambda y, a: y + a, ((1, 3, 20),), data=(1, 3, 4), flatten=False),
    dense("mul", lambda y, a: y * a, ((3, 1),), native=False),
    dense("mul", lambda y, a: y * a, ((1, 1),), native=False),
    dense("relu", relu, data=(2, 20, 2, 2), note="blocked data"),
    norm("relu", relu, (2, 20, 3, 3)),
    norm("relu", relu, (2, 16, 4), fix=True),
    norm("relu:0.1:0.0,linear:2.0:-1.0", lambda y: 2 * np.where(y > 0, y, 0.1 * y) - 1,
         (2, 20, 3, 3)),
    norm("sigmoid", lambda y: 1 / (1 + np.exp(-y)), (2, 20, 3, 3)),
    norm("clip:0.0:6.0", lambda y: np.clip(y, 0, 6), (2, 5)),
    fold((20, 3, 3, 3), 20),
    fold((20, 3, 3, 3), 20, bias=False, fix=True),
    fold((4, 3, 2, 2), 3, transposed=True),
    fold((4, 3, 2, 2), 6, transposed=True, groups=2, bias=False),
]
