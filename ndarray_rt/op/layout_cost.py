"""What an operator costs in each family of layouts: a model, in place of measuring."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from .calibration import BYTES_PER_MS

Shape = tuple[int, ...]


class LayoutCost(NamedTuple):
    """Milliseconds in channels-last layouts and in blocked ones.

    `fills_blocks`: blocked ones are so much better that they may pay for a reorder of what follows,
    also by this model alone, which is too coarse to say so of others. `needs_last`: its fast
    kernel has channels-last data alone, with any CPU.
    """

    last: float
    blocked: float
    fills_blocks: bool = False
    needs_last: bool = False


def reorder_cost(shape: Shape) -> float:
    """Milliseconds of a change of layout: all is read and written once."""
    return 1e-3 + 2 * 4.0 * prod(shape) / BYTES_PER_MS
