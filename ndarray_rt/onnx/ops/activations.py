"""Activations, softmax and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import axis_of, operator
from ..values import Value
from .math import erf, plain_unary


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


def _softplus(x: Array) -> Array:
    return (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype(x.dtype)


def _add_plain(name: str, function: Callable[[Array], Any],
               symbol: Callable[[GraphBuilder, Node, Value], Value | None]) -> None:
    @operator(name)
    def compute(node: Node, x: Array) -> Any:
        return function(x)
    compute.symbol(symbol)


def _softplus_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    return b.shaped(b.op("Activation", x, act_type="softrelu"), x.shape) if x.is_float else None


_add_plain("Relu", lambda x: np.maximum(x, np.zeros((), x.dtype)), plain_unary("relu"))
_add_plain("Sigmoid", _sigmoid, plain_unary("sigmoid"))
_add_plain("Tanh", np.tanh, plain_unary("tanh"))
_add_plain("Softsign", lambda x: x / (1 + np.abs(x)), plain_unary("softsign"))
_add_plain("Softplus", _softplus, _softplus_symbol)


@operator("LeakyRelu")
def leaky_relu(node: Node, x: Array) -> Array:
    return np.where(x < 0, x * np.asarray(node.attr("alpha", 0.01), x.dtype), x)


@leaky_relu.symbol
def leaky_relu_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    return b.shaped(b.op("LeakyReLU", x, act_type="leaky", slope=float(node.attr("alpha", 0.01))),
                    x.shape) if x.is_float else None


@operator("Elu")
def elu(node: Node, x: Array) -> Array:
    return np.where(x < 0, np.asarray(node.attr("alpha", 1.0), x.dtype) * np.expm1(
        np.minimum(x, 0)), x).astype(x.dtype)


@elu.symbol
def elu_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    return b.shaped(b.op("LeakyReLU", x, act_type="elu", slope=float(node.attr("alpha", 1.0))),
                    x.shape) if x.is_float else None


@operator("Selu")
def selu(node: Node, x: Array) -> Any:
    alpha, gamma = node.attr("alpha", 1.67326319217681884765625), node.attr(
        "gamma", 1.05070102214813232421875)
    return (gamma * np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)).astype(x.dtype)


@operator("Celu")
def celu(node: Node, x: Array) -> Any:
    alpha = node.attr("alpha", 1.0)
    return (np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(np.minimum(x, 0) / alpha))).astype(
        x.dtype)


@operator("ThresholdedRelu")
def thresholded_relu(node: Node, x: Array) -> Array:
    return np.where(x > np.asarray(node.attr("alpha", 1.0), x.dtype), x, 0).astype(x.dtype)


@operator("HardSigmoid")
def hard_sigmoid(node: Node, x: Array) -> Any:
    line = x * np.asarray(node.attr("alpha", 0.2), x.dtype) + np.asarray(
        node.attr("beta", 0.5), x.dtype)
    return np.clip(line, 0, 1).astype(x.dtype)


@hard_sigmoid.symbol
def hard_sigmoid_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    return b.shaped(b.op("hard_sigmoid", x, alpha=float(node.attr("alpha", 0.2)),
                         beta=float(node.attr("beta", 0.5))), x.shape) if x.is_float else None


@operator("HardSwish")
def hard_swish(node: Node, x: Array) -> Array:
    return (x * np.clip(x / 6 + 0.5, 0, 1)).astype(x.dtype)


@hard_swish.symbol
def hard_swish_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    if not x.is_float:
        return None
    gate = b.op("hard_sigmoid", x, alpha=1 / 6, beta=0.5)
    return b.shaped(b.op("elemwise_mul", x, gate), x.shape)


@operator("Gelu")
def gelu(node: Node, x: Array) -> Any:
    if node.attr("approximate", "none") == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return (0.5 * x * (1 + np.tanh(inner))).astype(x.dtype)
    return (0.5 * x * (1 + erf(x * math.sqrt(0.5)))).astype(x.dtype)


@gelu.symbol
def gelu_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    if not x.is_float:
        return None
    if node.attr("approximate", "none") != "tanh":
        return b.shaped(b.op("LeakyReLU", x, act_type="gelu"), x.shape)
    cube = b.op("_mul_scalar", b.op("_power_scalar", x, scalar=3.0), scalar=0.044715)
    inner = b.op("_mul_scalar", b.op("elemwise_add", x, cube), scalar=math.sqrt(2 / math.pi))
    gate = b.op("_plus_scalar", b.op("tanh", inner), scalar=1.0)
    return b.shaped(b.op("elemwise_mul", b.op("_mul_scalar", x, scalar=0.5), gate), x.shape)


@operator("Mish")
def mish(node: Node, x: Array) -> Array:
    return (x * np.tanh(_softplus(x))).astype(x.dtype)


@mish.symbol
def mish_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    if not x.is_float:
        return None
    gate = b.op("tanh", b.op("Activation", x, act_type="softrelu"))
    return b.shaped(b.op("elemwise_mul", x, gate), x.shape)


@operator("Swish")
def swish(node: Node, x: Array) -> Array:
    return (x * _sigmoid(x * np.asarray(node.attr("alpha", 1.0), x.dtype))).astype(x.dtype)


@swish.symbol
def swish_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    if not x.is_float:
        return None
    alpha = float(node.attr("alpha", 1.0))
    inner = x if alpha == 1.0 else b.op("_mul_scalar", x, scalar=alpha)
    return b.shaped(b.op("elemwise_mul", x, b.op("sigmoid", inner)), x.shape)


@operator("Shrink")
def shrink(node: Node, x: Array) -> Array:
    limit, bias = node.attr("lambd", 0.5), node.attr("bias", 0.0)
    return np.where(x < -limit, x + bias, np.where(x > limit, x - bias, 0)).astype(x.dtype)


# ---- softmax ------------------------------------------------------------------------------------


def _soft(x: Array, axis: int) -> Any:
    own = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    shifted = np.exp(own - own.max(axis, keepdims=True, initial=-np.inf))
    return (shifted / shifted.sum(axis, keepdims=True)).astype(x.dtype)


def _log_soft(x: Array, axis: int) -> Any:
    own = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    shifted = own - own.max(axis, keepdims=True, initial=-np.inf)
    return (shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))).astype(x.dtype)


def _hard(x: Array, axis: int) -> Array:
    if not x.size:
        return x
    first = np.expand_dims(x.argmax(axis), axis)
    made = np.zeros_like(x)
    np.put_along_axis(made, first, 1, axis)
    return made


def _add_soft(name: str, function: Callable[[Array, int], Array], op: str | None) -> None:
    @operator(name)
    def compute(node: Node, x: Array) -> Any:
        if node.opset >= 13:
            return function(x, axis_of(node, x.ndim, -1))
        axis = axis_of(node, x.ndim, 1) if x.ndim > 1 or node.attr("axis") is not None else 0
        rows = x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))
        return function(rows, 1).reshape(x.shape)

    if op is None:
        return

    @compute.symbol
    def symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
        if not x.is_float or not x.rank:
            return None
        if node.opset >= 13:
            return b.op(op, x, axis=axis_of(node, x.rank, -1))
        axis = axis_of(node, x.rank, 1) if x.rank > 1 or node.attr("axis") is not None else 0
        if prod(x.shape[axis + 1:]) == 1 and x.rank:
            return b.op(op, x, axis=axis)
        rows = b.reshaped(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
        return b.reshaped(b.op(op, rows, axis=-1), x.shape)


_add_soft("Softmax", _soft, "softmax")
_add_soft("LogSoftmax", _log_soft, "log_softmax")
_add_soft("Hardmax", _hard, None)


# ---- dropout ------------------------------------------------------------------------------------


@operator("Dropout")
def dropout(node: Node, x: Array, ratio: Array | None = None, training: Array | None = None,
            ) -> tuple[Array, ...]:
    share = 0.5 if ratio is None else float(ratio.reshape(-1)[0])
    if training is None or not bool(training.reshape(-1)[0]) or share == 0:
        mask: Array = np.ones(x.shape, np.dtype(bool) if node.opset >= 10 else x.dtype)
        return x, mask
    seed = node.attr("seed")
    kept = np.random.RandomState(None if seed is None else int(seed)).uniform(
        0, 1, x.shape) >= share
    return np.where(kept, x / (1 - share), 0).astype(x.dtype), np.asarray(kept)


@dropout.symbol
def dropout_symbol(b: GraphBuilder, node: Node, x: Value, ratio: Value | None = None,
                   training: Value | None = None) -> Any:
    if sum(map(bool, node.outputs)) > 1 or (
            training is not None and (training.const is None or training.const.any())):
        return None
    return x
