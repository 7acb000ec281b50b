"""Rows that are 1 in one place: products of these with a matrix are rows of the matrix.

Exporters compare whole numbers with all places, and multiply the result with a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .build import GraphBuilder
from .graph import Array, Node
from .values import Value


def note(node: Node, ins: Sequence[Any], made: Any) -> None:
    """What a node's output is known to be of its inputs."""
    if not ins or not isinstance(made, Value) or made.const is not None or not made.rank:
        return
    first = ins[0]
    if node.op == "Expand" and _has_one_column(first) and first.shape[:-1] == made.shape[:-1]:
        made.repeats = first
    elif node.op == "Cast" and isinstance(first, Value) and made.dtype.kind in "iufb":
        made.places = first.places
    elif node.op == "Equal":
        for places, all_places in (ins, ins[::-1]):
            found = places.repeats or places
            if (_has_one_column(found) and _counts_up(all_places)
                    and made.shape == (*found.shape[:-1], all_places.size)):
                made.places = found


def _has_one_column(value: Any) -> bool:
    return (isinstance(value, Value) and value.const is None and value.dtype.kind in "iu"
            and value.rank > 0 and value.shape[-1] == 1)


def _counts_up(value: Value) -> bool:
    """It is 0, 1, 2 ... along its last axis."""
    return (value.const is not None and value.rank > 0 and value.shape[-1] == value.size > 0
            and np.array_equal(value.const.reshape(-1), np.arange(value.size)))


class Inside:
    """Places as rows of a table of so many rows, and behind these one of zeros for all others."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, places: Array) -> tuple[Array]:
        flat = places[..., 0]
        is_inside = (flat >= 0) & (flat < self.count)
        return (np.where(is_inside, flat, self.count).astype(np.int32),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inside) and other.count == self.count

    def __hash__(self) -> int:
        return hash((Inside, self.count))

    def __repr__(self) -> str:
        return f"<places below {self.count}>"


def rows_of(b: GraphBuilder, hot: Value, table: Value) -> Value | None:
    """The product of such rows with a constant table of finite numbers, None where it is none."""
    places = hot.places
    if (places is None or places.rank < 2 or table.const is None or table.rank != 2
            or not np.isfinite(table.const).all()):
        return None
    count, shape = table.shape[0], places.shape[:-1]
    made = b.constants.made_of(table, "rows and zeros", lambda array: np.concatenate(
        [array, np.zeros_like(array[:1])]))
    whole = Value(made.shape, table.dtype, const=made, fixed=table.fixed)
    at, = b.function(Inside(count), [places], [(shape, np.dtype(np.int32))], False)
    return b.op("take", whole, at, axis=0)
