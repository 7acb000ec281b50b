"""Chains of elementwise functions and constants, against numpy written out."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native, Reference


def chain(post_ops: str, reference: Reference, data: tuple[int, ...], *operands: tuple[int, ...],
          native: bool = True, note: str = "", **contents: Any) -> Case:
    return Case("_fused_elementwise", {"post_ops": post_ops},
                [Input(data), *(Input(shape, **contents) for shape in operands)],
                reference=reference, native=native, rtol={"float32": 1e-4},
                atol={"float32": 1e-5}, note=note)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def constant(array: Array, native: Native) -> Case:
    data = base64.b64encode(array.tobytes()).decode()
    return Case("_constant", {"shape": array.shape, "dtype": array.dtype.name, "data": data}, [],
                reference=lambda: array, native=native)


IMAGE, ROWS = (2, 20, 3, 5), (3, 4, 20)

CASES = [
    chain("relu", relu, IMAGE),
    chain("sigmoid,linear:2.0:-1.0", lambda x: 2 * sigmoid(x) - 1, IMAGE,
          note="padded blocks must stay zero"),
    chain("sigmoid,square,tanh", lambda x: np.tanh(sigmoid(x) ** 2), (7,)),
    chain("hardswish:0.5:0.25", lambda x: x * np.clip(0.5 * x + 0.25, 0, 1), IMAGE),
    chain("hardsigmoid:0.5:0.25", lambda x: np.clip(0.5 * x + 0.25, 0, 1), IMAGE),
    chain("mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), IMAGE),
    chain("gelu_tanh", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi)
                                                        * (x + 0.044715 * x ** 3))), IMAGE),
    chain("add,relu", lambda x, a: relu(x + a), IMAGE, IMAGE),
    chain("tanh,add,relu,mul", lambda x, a, m: relu(np.tanh(x) + a) * m, IMAGE, IMAGE, IMAGE),
    chain("sub,square,div", lambda x, a, d: (x - a) ** 2 / d, ROWS, ROWS, ROWS, low=0.5, high=1.5),
    chain("mul,add", lambda x, m, a: x * m + a, IMAGE, (1, 20, 1, 1), (1, 20, 1, 1)),
    chain("mul,add,relu", lambda x, m, a: relu(x * m + a), IMAGE, (1, 20, 1, 1), IMAGE),
    chain("add,gelu", lambda x, a: (x + a) * 0.5 * (1 + np.vectorize(math.erf)(
        (x + a) / math.sqrt(2))), ROWS, (1, 1, 20)),
    chain("tanh,mul", lambda x, m: np.tanh(x) * m, ROWS, (1, 4, 20)),
    chain("tanh,mul", lambda x, m: np.tanh(x) * m, ROWS, (3, 4, 1)),
    chain("mul,tanh", lambda x, m: np.tanh(x * m), ROWS, (3, 1, 1)),
    chain("add,mul", lambda x, a, m: (x + a) * m, ROWS, (1, 1, 1), (1, 1, 20)),
    chain("add,tanh", lambda x, a: np.tanh(x + a), (4, 6), (4, 1)),
    chain("add,tanh", lambda x, a: np.tanh(x + a), (1, 6), (1, 1)),
    constant(np.arange(6, dtype=np.float32).reshape(2, 3), True),
    constant(np.arange(4, dtype=np.int32), "auto"),
    constant(np.linspace(0, 1, 5), "auto"),
    constant(np.array([[1], [2]], np.int64), False),
]
