"""What a node costs in each family of layouts: a model, in place of measuring."""

from __future__ import annotations

from math import prod
from typing import Any

from ..op.choose import BLOCK, FEW_CHANNELS
from ..ops.nn.window_kernels import FEW_CHANNELS_WINDOWS
from ..passes.fuse_separable_convolutions import SEPARABLE
from ..symbol.node import Node

Shape = tuple[int, ...]

CONVOLUTIONS = frozenset({"Convolution", "_fused_Convolution", "_fused_normed_Convolution",
                          SEPARABLE})
# of one core: what a good kernel reaches, and what comes from memory where caches are too small
FLOPS_PER_MS = 100e6
BYTES_PER_MS = 8e6
# tensors above this come from memory and not from a cache
LARGE = 4 << 20
# time in 16-blocked layouts over time in channels-last: measured on AVX-512 with oneDNN 3.2 and
# kernels of ours, which are for channels-last
BLOCKED_OVER_LAST = {
    # (kind, large tensors)
    ("first", False): 0.87, ("first", True): 0.87,
    ("dense", False): 1.5, ("dense", True): 1.3,
    ("pointwise", False): 1.06, ("pointwise", True): 1.0,
    ("depthwise", False): 1.0, ("depthwise", True): 1.0,
}


def is_first_layer(node: Node, channels: int) -> bool:
    """Large windows of a few channels, and results that fill blocks: oneDNN's kernel writes these
    best, and reads images as they come for them. Smaller windows are for a kernel of ours."""
    params: Any = node.params
    return (not _is_separable(node) and channels <= FEW_CHANNELS and params.num_group == 1
            and params.num_filter % BLOCK == 0
            and prod(params.kernel) > max(map(prod, FEW_CHANNELS_WINDOWS)))


def convolution_kind(node: Node, channels: int) -> str:
    """first (large windows of a few channels), dense, pointwise (a 1x1 window) or depthwise (a
    group for each channel)."""
    params: Any = node.params
    if is_first_layer(node, channels):
        return "first"
    if params.num_group == channels and params.num_group > 1:
        return "depthwise"
    return "pointwise" if prod(params.kernel) == 1 else "dense"


def convolution_costs(node: Node, data: Shape, out: Shape) -> tuple[float, float]:
    """Milliseconds of a convolution (channels-last, blocked) of inputs and outputs so shaped."""
    params: Any = node.params
    if _is_separable(node):
        # for all layouts one kernel, which reads and writes channels-last ones
        return 0.0, reorder_cost(data) + reorder_cost(out)
    kind = convolution_kind(node, data[1])
    flops = 2.0 * prod(out) * data[1] // params.num_group * prod(params.kernel)
    moved = 4.0 * (prod(data) + prod(out))
    last = max(flops / FLOPS_PER_MS, moved / BYTES_PER_MS if moved > LARGE else 0.0)
    return last, last * BLOCKED_OVER_LAST[kind, moved > LARGE]


def _is_separable(node: Node) -> bool:
    return node.op is not None and node.op.name == SEPARABLE


def reorder_cost(shape: Shape) -> float:
    """Milliseconds of a change of layout: all is read and written once."""
    return 1e-3 + 2 * 4.0 * prod(shape) / BYTES_PER_MS
