"""Activations, softmax and its like."""

from __future__ import annotations

import math

import numpy as np

from ....ops.nn.leaky_relu import gamma_dims
from ..call import Call
from ..dims import Dim
from ..table import Refused, exports

_SIMPLE = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus",
           "softsign": "Softsign"}


@exports("Activation")
def activation(c: Call) -> str:
    return c.op(_SIMPLE[c.p.act_type], c.input(0))


@exports("LeakyReLU")
def leaky_relu(c: Call) -> str:
    x, kind = c.input(0), c.p.act_type
    if kind == "leaky":
        return c.op("LeakyRelu", x, alpha=c.p.slope)
    if kind == "rrelu":
        return c.op("LeakyRelu", x, alpha=(c.p.lower_bound + c.p.upper_bound) / 2)
    if kind == "elu":
        return c.op("Elu", x, alpha=c.p.slope)
    if kind == "selu":
        return c.op("Selu", x)
    if kind == "prelu":
        slopes = c.input(1)
        slopes = c.reshape(slopes, c.shape(1), gamma_dims(
            tuple(c.fixed(c.shape(1), "gamma")),
            tuple(0 if isinstance(size, Dim) else size for size in c.shape())))
        return c.op("PRelu", x, slopes)
    return gelu(c, x)


def gelu(c: Call, x: str) -> str:
    """x/2 (1 + erf(x / sqrt(2)))."""
    curve = c.op("Erf", c.op("Div", x, c.number(math.sqrt(2.0))))
    return c.op("Mul", c.op("Mul", x, c.op("Add", curve, c.number(1.0))), c.number(0.5))


@exports("hard_sigmoid")
def hard_sigmoid(c: Call) -> str:
    return c.op("HardSigmoid", c.input(0), alpha=c.p.alpha, beta=c.p.beta)


@exports("LogisticRegressionOutput", ignores=[1])
def logistic(c: Call) -> str:
    return c.op("Sigmoid", c.input(0))


@exports("softmax", "softmin", "log_softmax")
def softmax(c: Call) -> str:
    x, axis = c.input(0), c.p.axis % c.rank()
    if c.dtype() != c.out_dtype():
        if c.out_dtype().kind != "f":
            raise Refused(f"dtype {c.out_dtype()}")
        x = c.cast(x, c.out_dtype())
    dtype = c.out_dtype()
    if c.operator == "softmin":
        x = c.op("Neg", x)
    if c.p.temperature not in (None, 1.0):
        x = c.op("Div", x, c.const(c.p.temperature, dtype))
    name = "LogSoftmax" if c.operator == "log_softmax" else "Softmax"
    if not c.p.use_length:
        return c.op(name, x, axis=axis)
    size = c.shape()[axis]
    places = positions(c, size)
    places = c.reshape(places, (size,), (size, *(1,) * (c.rank() - 1 - axis)))
    lengths = c.whole(1) if c.rank(1) == c.rank() else c.unsqueeze(c.whole(1), axis)
    inside = c.op("Less", places, lengths)
    lowest = c.const(np.finfo(dtype).min, dtype)
    made = c.op(name, c.op("Where", inside, x, lowest), axis=axis)
    return c.op("Where", inside, made, c.const(0, dtype))


def positions(c: Call, size: int | Dim) -> str:
    """0, 1, 2 ... up to the size of an axis of the first input."""
    if isinstance(size, int):
        return c.ints(*range(size))
    length = c.squeeze(c.sizes([size], (c.input(0), c.shape())), 0)
    return c.op("Range", c.const(0, np.int64), length, c.const(1, np.int64))


@exports("SoftmaxActivation")
def softmax_activation(c: Call) -> str:
    return c.op("Softmax", c.input(0), axis=1) if c.p.mode == "channel" else _by_sample(c)


@exports("SoftmaxOutput", ignores=[1])
def softmax_output(c: Call) -> str:
    if c.p.multi_output:
        return c.op("Softmax", c.input(0), axis=1)
    if c.p.preserve_shape:
        return c.op("Softmax", c.input(0), axis=-1)
    return _by_sample(c)


def _by_sample(c: Call) -> str:
    """Over all axes but the first."""
    x = c.input(0)
    if c.rank() == 2 or c.operator == "SoftmaxActivation":
        return c.op("Softmax", x, axis=-1)
    made = c.op("Softmax", c.op("Flatten", x, axis=1), axis=-1)
    return c.op("Reshape", made, c.sizes(c.shape(), (x, c.shape())))
