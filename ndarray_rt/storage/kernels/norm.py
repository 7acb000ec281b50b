"""Calls of the native kernels in native/kernels/norm/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def batch_stats(*, out: Mem, mean: Mem, var: Mem, data: Mem, beta: Mem, gamma: Mem | None = None,
                outer: int, channels: int, inner: int, block: int, all: bool,
                epsilon: float) -> KernelCall:
    """Normalizes the channels anew whose statistics float has lost, or all; data lies in blocks of
    `block` channels."""
    return KernelCall(lib.NDRT_KERNEL_BATCH_STATS, (out, mean, var, data, beta, gamma), (outer,
                      channels, inner, block, all), (epsilon,))


def fold_norm(*, weight_out: Mem, bias_out: Mem, weight: Mem, beta: Mem, mean: Mem, var: Mem,
              gamma: Mem | None = None, bias: Mem | None = None, groups: int, inputs: int,
              channels: int, width: int, epsilon: float) -> KernelCall:
    """Weight and bias that do what a layer and the batch normalization behind it do; the weight is
    (groups, inputs of a group, channels of a group, width)."""
    return KernelCall(lib.NDRT_KERNEL_FOLD_NORM, (weight_out, bias_out, weight, beta, mean, var,
                      gamma, bias), (groups, inputs, channels, width), (epsilon,))
