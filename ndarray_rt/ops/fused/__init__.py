"""Operators that passes make of several: a convolution with all that follows it, folded weights.

They are for inference, have no gradient, and are no part of what users compose.
"""

from . import (
    affine_batch_norm,
    batch_norm,
    constant,
    convolution,
    deconvolution,
    elementwise,
    fold_batch_norm,
    fully_connected,
    matmul,
    normed_convolution,
    pooling,
    separable_convolution,
)

__all__ = ["affine_batch_norm", "batch_norm", "constant", "convolution", "deconvolution",
           "elementwise", "fold_batch_norm", "fully_connected", "matmul", "normed_convolution",
           "pooling", "separable_convolution"]
