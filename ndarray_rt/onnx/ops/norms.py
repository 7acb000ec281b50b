"""Normalisations."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...errors import ModelFormatError
from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import axes_of, axis_of, operator
from ..values import Value
from .math import binary


def _by_channel(value: Array, x: Array) -> Array:
    """A number for each channel, as it stands beside data."""
    rank = x.ndim
    if rank > 1 and value.size != x.shape[1]:
        raise ValueError(f"{value.size} numbers for {x.shape[1]} channels")
    return value.reshape((1, -1) + (1,) * (rank - 2)) if rank > 1 else value


@operator("BatchNormalization")
def batch_normalization(node: Node, x: Array, scale: Array, bias: Array, mean: Array,
                        variance: Array) -> tuple[Array, ...]:
    eps = float(node.attr("epsilon", 1e-5))
    is_training = node.attr("training_mode", 0) if node.opset >= 14 else (
        sum(map(bool, node.outputs)) > 1 or (node.opset < 7 and not node.attr("is_test", 0)))
    if not is_training:
        return (_normalized(x, scale, bias, mean, variance, eps),)
    axes = (0, *range(2, x.ndim))
    own_mean, own_variance = x.mean(axes), x.var(axes)
    momentum = float(node.attr("momentum", 0.9))
    return (_normalized(x, scale, bias, own_mean, own_variance, eps),
            (mean * momentum + own_mean * (1 - momentum)).astype(mean.dtype),
            (variance * momentum + own_variance * (1 - momentum)).astype(variance.dtype))


def _normalized(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, eps: float,
                ) -> Array:
    scale, bias, mean, variance = (_by_channel(v, x) for v in (scale, bias, mean, variance))
    return ((x - mean) / np.sqrt(variance + eps) * scale + bias).astype(x.dtype)


@batch_normalization.symbol
def batch_normalization_symbol(b: GraphBuilder, node: Node, x: Value, *given: Value,
                               ) -> Value | None:
    is_training = node.attr("training_mode", 0) or sum(map(bool, node.outputs)) > 1 or (
        node.opset < 7 and not node.attr("is_test", 0)) or not node.attr("spatial", 1)
    if is_training or x.rank < 2 or not x.is_float or any(v.dtype != x.dtype for v in given):
        return None
    if any(v.const is None for v in given[2:]):
        return None
    return b.op("BatchNorm", x, *given, eps=float(node.attr("epsilon", 1e-5)), fix_gamma=False)


@operator("InstanceNormalization")
def instance_normalization(node: Node, x: Array, scale: Array, bias: Array) -> Any:
    axes = tuple(range(2, x.ndim))
    return _normalized_by(x, axes, float(node.attr("epsilon", 1e-5)), _by_channel(scale, x),
                          _by_channel(bias, x))


def _normalized_by(x: Array, axes: tuple[int, ...], eps: float, scale: Any, bias: Any) -> Any:
    if x.size == 0:
        return x
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return ((x - mean) / np.sqrt(variance + eps) * scale + bias).astype(x.dtype)


@instance_normalization.symbol
def instance_normalization_symbol(b: GraphBuilder, node: Node, x: Value, scale: Value,
                                  bias: Value) -> Value | None:
    if not x.is_float or x.rank < 3:
        return None
    return b.op("InstanceNorm", x, scale, bias, eps=float(node.attr("epsilon", 1e-5)))


@operator("LayerNormalization")
def layer_normalization(node: Node, x: Array, scale: Array, bias: Array | None = None,
                        ) -> tuple[Array, ...]:
    axis = axis_of(node, x.ndim, -1)
    axes = tuple(range(axis, x.ndim))
    own = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    mean, variance = own.mean(axes, keepdims=True), own.var(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + np.asarray(node.attr("epsilon", 1e-5), own.dtype))
    made = ((own - mean) * inverse).astype(x.dtype) * scale
    made = made if bias is None else made + bias
    return made, mean.astype(own.dtype), inverse.astype(own.dtype)


def _scaled_size(node: Node, x: Array, *factors: Array | None) -> tuple[tuple[int, ...], Any]:
    """That of data: factors are repeated to fit, data is not."""
    for factor in factors:
        if factor is not None and np.broadcast_shapes(x.shape, factor.shape) != x.shape:
            raise ValueError(f"factors of shape {factor.shape} for data of shape {x.shape}")
    return x.shape, x.dtype


layer_normalization.sized(_scaled_size)


@layer_normalization.symbol
def layer_normalization_symbol(b: GraphBuilder, node: Node, x: Value, scale: Value,
                               bias: Value | None = None) -> Value | None:
    axis = axis_of(node, x.rank, -1)
    length = prod(x.shape[axis:])
    if not x.is_float or sum(map(bool, node.outputs)) > 1 or scale.size != length or (
            scale.dtype != x.dtype or (bias is not None and bias.size != length)):
        return None
    if bias is None:
        bias = Value((length,), x.dtype, const=np.zeros(length, x.dtype))
    rows = x if axis == x.rank - 1 else b.reshaped(x, (*x.shape[:axis], length))
    made = b.op("LayerNorm", rows, b.reshaped(scale, (length,)), b.reshaped(bias, (length,)),
                axis=-1, eps=float(node.attr("epsilon", 1e-5)))
    return b.reshaped(made, x.shape)


@operator("GroupNormalization")
def group_normalization(node: Node, x: Array, scale: Array, bias: Array) -> Any:
    groups = int(node.attr("num_groups"))
    eps = float(node.attr("epsilon", 1e-5))
    parts = x.reshape(x.shape[0], groups, prod(x.shape[1:]) // groups)
    plain = _normalized_by(parts, (2,), eps, 1, 0).reshape(x.shape)
    if node.opset < 21 and scale.size == groups:
        # one factor for each group
        scale, bias = (np.repeat(v, x.shape[1] // groups) for v in (scale, bias))
    return (plain * _by_channel(scale, x) + _by_channel(bias, x)).astype(x.dtype)


@operator("RMSNormalization")
def rms_normalization(node: Node, x: Array, scale: Array) -> Any:
    axes = tuple(range(axis_of(node, x.ndim, -1), x.ndim))
    own = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    mean = np.mean(own * own, axes, keepdims=True)
    root = np.sqrt(mean + np.asarray(node.attr("epsilon", 1e-5), own.dtype))
    return ((own / root).astype(x.dtype) * scale).astype(x.dtype)


rms_normalization.sized(_scaled_size)


@rms_normalization.symbol
def rms_normalization_symbol(b: GraphBuilder, node: Node, x: Value, scale: Value) -> Value | None:
    if not x.is_float or scale.dtype != x.dtype:
        return None
    axes = tuple(range(axis_of(node, x.rank, -1), x.rank))
    mean = b.op("mean", b.op("square", x), axis=axes, keepdims=True)
    root = b.op("rsqrt", b.op("_plus_scalar", mean, scalar=float(node.attr("epsilon", 1e-5))))
    return binary(b, "Mul", b.op("broadcast_mul", x, root), scale)


@operator("LpNormalization")
def lp_normalization(node: Node, x: Array) -> Array:
    axis = axis_of(node, x.ndim, -1)
    p = int(node.attr("p", 2))
    length = np.sqrt((x * x).sum(axis, keepdims=True)) if p == 2 else (
        np.abs(x).sum(axis, keepdims=True))
    return np.where(length == 0, 0, x / np.where(length == 0, 1, length)).astype(x.dtype)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, x: Array) -> Any:
    axes = axes_of(node, None, x.ndim) or (0, 2, 3)
    if x.size == 0:
        return x
    mean = x.mean(axes, keepdims=True)
    deviation = np.sqrt((x * x).mean(axes, keepdims=True) - mean * mean)
    return ((x - mean) / (deviation + np.asarray(1e-9, x.dtype))).astype(x.dtype)


@operator("LRN")
def lrn(node: Node, x: Array) -> Array:
    size = int(node.attr("size"))
    alpha, beta, bias = (float(node.attr(name, value)) for name, value in (
        ("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    if size < 1:
        raise ModelFormatError(f"a size of {size}")
    channels = x.shape[1]
    # beyond all channels there is nothing to add
    before, after = min((size - 1) // 2, channels), min(size // 2, channels)
    squares = np.pad(x * x, [(0, 0), (before, after)] + [(0, 0)] * (x.ndim - 2))
    total = sum(squares[:, i:i + x.shape[1]] for i in range(before + after + 1))
    return (x / (bias + alpha / size * total) ** beta).astype(x.dtype)


@lrn.symbol
def lrn_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    size = int(node.attr("size"))
    if not x.is_float or size % 2 == 0 or x.rank != 4:
        return None
    return b.op("LRN", x, nsize=size, alpha=float(node.attr("alpha", 1e-4)),
                beta=float(node.attr("beta", 0.75)), knorm=float(node.attr("bias", 1.0)))
