"""Calls of the native kernels in native/kernels/norm/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def norm_rows(*, out: Mem, data: Mem, gamma: Mem, beta: Mem, mean: Mem, std: Mem, rows: int,
              width: int, vectors: int, epsilon: float) -> KernelCall:
    """Rows normalized."""
    return KernelCall(lib.NDRT_KERNEL_NORM_ROWS, (out, data, gamma, beta, mean, std), (rows, width,
                      vectors), (epsilon,))


def row_slopes(*, slopes: Mem, dy: Mem, data: Mem, gamma: Mem, mean: Mem, std: Mem, rows: int,
               width: int, vectors: int) -> KernelCall:
    """What the gradients of rows are made of."""
    return KernelCall(lib.NDRT_KERNEL_ROW_SLOPES, (slopes, dy, data, gamma, mean, std), (rows,
                      width, vectors), ())


def norm_rows_grad(*, dx: Mem, dy: Mem, data: Mem, slopes: Mem, rows: int, width: int,
                   vectors: int) -> KernelCall:
    """The gradient of the data."""
    return KernelCall(lib.NDRT_KERNEL_NORM_ROWS_GRAD, (dx, dy, data, slopes), (rows, width,
                      vectors), ())


def sum_slopes(*, dgamma: Mem, dbeta: Mem, slopes: Mem, rows: int, width: int,
               vectors: int) -> KernelCall:
    """The gradients of gamma and beta."""
    return KernelCall(lib.NDRT_KERNEL_SUM_SLOPES, (dgamma, dbeta, slopes), (rows, width, vectors),
                      ())


def norm_axis(*, out: Mem, data: Mem, gamma: Mem, beta: Mem, mean: Mem, std: Mem, outer: int,
              length: int, inner: int, epsilon: float) -> KernelCall:
    """Columns normalized."""
    return KernelCall(lib.NDRT_KERNEL_NORM_AXIS, (out, data, gamma, beta, mean, std), (outer,
                      length, inner), (epsilon,))


def norm_axis_grad(*, dx: Mem, dy: Mem, data: Mem, gamma: Mem, mean: Mem, std: Mem, outer: int,
                   length: int, inner: int) -> KernelCall:
    """The gradient of the data."""
    return KernelCall(lib.NDRT_KERNEL_NORM_AXIS_GRAD, (dx, dy, data, gamma, mean, std), (outer,
                      length, inner), ())


def norm_axis_vectors(*, dgamma: Mem, dbeta: Mem, dy: Mem, data: Mem, mean: Mem, std: Mem,
                      outer: int, length: int, inner: int) -> KernelCall:
    """The gradients of gamma and beta."""
    return KernelCall(lib.NDRT_KERNEL_NORM_AXIS_VECTORS, (dgamma, dbeta, dy, data, mean, std),
                      (outer, length, inner), ())


def l2(*, out: Mem, data: Mem, norm: Mem, outer: int, length: int, inner: int,
       epsilon: float) -> KernelCall:
    """data / norm, norm = sqrt(sum data^2 + epsilon)."""
    return KernelCall(lib.NDRT_KERNEL_L2, (out, data, norm), (outer, length, inner), (epsilon,))


def l2_grad(*, dx: Mem, dy: Mem, out: Mem, norm: Mem, outer: int, length: int,
            inner: int) -> KernelCall:
    """The gradient of the data."""
    return KernelCall(lib.NDRT_KERNEL_L2_GRAD, (dx, dy, out, norm), (outer, length, inner), ())


def batch_stats(*, out: Mem, mean: Mem, var: Mem, data: Mem, beta: Mem, gamma: Mem | None = None,
                outer: int, channels: int, inner: int, block: int, all: bool,
                epsilon: float) -> KernelCall:
    """Normalizes the channels anew whose statistics float has lost, or all; data lies in blocks of
    `block` channels."""
    return KernelCall(lib.NDRT_KERNEL_BATCH_STATS, (out, mean, var, data, beta, gamma), (outer,
                      channels, inner, block, all), (epsilon,))


def normalize_channels(*, out: Mem, data: Mem, mean: Mem, var: Mem, beta: Mem,
                       gamma: Mem | None = None, outer: int, channels: int, inner: int, block: int,
                       relu: bool, epsilon: float) -> KernelCall:
    """Batch normalization with these statistics; data lies in blocks of `block` channels. With
    `relu` what is below 0 becomes 0."""
    return KernelCall(lib.NDRT_KERNEL_NORMALIZE_CHANNELS, (out, data, mean, var, beta, gamma),
                      (outer, channels, inner, block, relu), (epsilon,))


def norm_last(*, out: Mem, data: Mem, gamma: Mem, beta: Mem, mean: Mem, std: Mem, rows: int,
              width: int, epsilon: float) -> KernelCall:
    """Rows normalized; gamma and beta of an element each."""
    return KernelCall(lib.NDRT_KERNEL_NORM_LAST, (out, data, gamma, beta, mean, std), (rows, width),
                      (epsilon,))


def lrn(*, out: Mem, data: Mem, outer: int, channels: int, inner: int, neighbours: int,
        alpha: float, beta: float, knorm: float) -> KernelCall:
    """Local response normalization over channels."""
    return KernelCall(lib.NDRT_KERNEL_LRN, (out, data), (outer, channels, inner, neighbours),
                      (alpha, beta, knorm))


def fold_norm(*, weight_out: Mem, bias_out: Mem, weight: Mem, beta: Mem, mean: Mem, var: Mem,
              gamma: Mem | None = None, bias: Mem | None = None, groups: int, inputs: int,
              channels: int, width: int, epsilon: float) -> KernelCall:
    """Weight and bias that do what a layer and the batch normalization behind it do; the weight is
    (groups, inputs of a group, channels of a group, width)."""
    return KernelCall(lib.NDRT_KERNEL_FOLD_NORM, (weight_out, bias_out, weight, beta, mean, var,
                      gamma, bias), (groups, inputs, channels, width), (epsilon,))
