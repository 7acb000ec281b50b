"""Rows that are 1 in one place: products of these with a matrix are rows of the matrix.

Exporters compare whole numbers with all places, and multiply the result with a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .build import GraphBuilder
from .graph import Node
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


def rows_of(b: GraphBuilder, hot: Value, table: Value) -> Value | None:
    """The product of such rows with a constant table of finite numbers, None where it is none."""
    places = hot.places
    if (places is None or places.rank < 2 or table.const is None or table.rank != 2
            or not np.isfinite(table.const).all()):
        return None
    # a row of zeros at either end, where `take` looks for places outside
    made = b.constants.made_of(table, "rows between zeros", lambda array: np.pad(
        array, ((1, 1), (0, 0))))
    whole = Value(made.shape, table.dtype, const=made, fixed=table.fixed)
    at = b.reshaped(places, places.shape[:-1])
    if at.dtype.name not in ("int32", "int64"):
        at = b.cast(at, np.dtype(np.int32 if at.dtype.itemsize < 4 else np.int64))
    # the greatest number wraps round: it is outside as well
    return b.op("take", whole, b.op("_plus_scalar", at, scalar=1.0), axis=0, mode="clip")
