"""What convolutions cost in each layout, for plans that are not measured."""

from __future__ import annotations

from math import prod
from typing import Any

from ...op.calibration import (
    BLOCKED_OVER_LAST,
    BYTES_PER_MS,
    FEW_CHANNELS_WINDOWS,
    FLOPS_PER_MS,
    LARGE,
    LEAST_BLOCKED_WINDOW,
)
from ...op.choose import BLOCK, FEW_CHANNELS
from ...op.layout_cost import LayoutCost
from ...op.registry import Shape


def _kind(p: Any, channels: int) -> str:
    """first (large windows of a few channels, and results that fill blocks: oneDNN's kernel writes
    these best, and reads images as they come for them), dense, pointwise (a 1x1 window) or
    depthwise (a group for each channel)."""
    if (channels <= FEW_CHANNELS and p.num_group == 1 and p.num_filter % BLOCK == 0
            and prod(p.kernel) >= LEAST_BLOCKED_WINDOW
            and p.kernel not in FEW_CHANNELS_WINDOWS):
        return "first"
    if p.num_group == channels and p.num_group > 1:
        return "depthwise"
    return "pointwise" if prod(p.kernel) == 1 else "dense"


def convolution_cost(p: Any, data: Shape, out: Shape) -> LayoutCost:
    """The cost of a convolution with data and output of these shapes."""
    kind = _kind(p, data[1])
    flops = 2.0 * prod(out) * data[1] // p.num_group * prod(p.kernel)
    moved = 4.0 * (prod(data) + prod(out))
    last = max(flops / FLOPS_PER_MS, moved / BYTES_PER_MS if moved > LARGE else 0.0)
    return LayoutCost(last, last * BLOCKED_OVER_LAST[kind, moved > LARGE], kind == "first",
                      kind == "depthwise")
