"""What an operator costs in each layout: a model, used without measurements."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from .calibration import BYTES_PER_MS

Shape = tuple[int, ...]


class LayoutCost(NamedTuple):
    """Milliseconds in channels-last layouts and in blocked ones.

    `fills_blocks`: blocked layouts are so much faster that they may pay for a reorder of the result
    even by this coarse model. `needs_last`: its fast kernel reads channels-last data only, on any
    CPU.
    """

    last: float
    blocked: float
    fills_blocks: bool = False
    needs_last: bool = False


def reorder_cost(shape: Shape) -> float:
    """Milliseconds of a change of layout, which reads and writes everything once."""
    return 1e-3 + 2 * 4.0 * prod(shape) / BYTES_PER_MS
