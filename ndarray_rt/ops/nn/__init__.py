"""Operators of neural networks."""

from . import (
    activation,
    batch_norm,
    convolution,
    deconvolution,
    dropout,
    fully_connected,
    layer_norm,
    leaky_relu,
    lrn,
    pooling,
    pooling_v1,
    regression_output,
    softmax,
    softmax_output,
)

__all__ = [
    "activation",
    "batch_norm",
    "convolution",
    "deconvolution",
    "dropout",
    "fully_connected",
    "layer_norm",
    "leaky_relu",
    "lrn",
    "pooling",
    "pooling_v1",
    "regression_output",
    "softmax",
    "softmax_output",
]
