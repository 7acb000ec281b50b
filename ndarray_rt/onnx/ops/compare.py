"""Comparing, logic, and choosing by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import operator
from ..values import Value
from .math import broadcast_size, broadcast_truth, legacy_operand


def _add(name: str, function: Callable[[Any, Any], Any]) -> None:
    @operator(name)
    def compute(node: Node, a: Array, b: Array) -> Any:
        return function(a, legacy_operand(node, a, b))
    compute.sized(broadcast_size if name.startswith("Bitwise") else broadcast_truth)


for _name, _function in (
        ("Equal", np.equal), ("Greater", np.greater), ("Less", np.less),
        ("GreaterOrEqual", np.greater_equal), ("LessOrEqual", np.less_equal),
        ("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor),
        ("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or),
        ("BitwiseXor", np.bitwise_xor)):
    _add(_name, _function)


@operator("Not")
def logical_not(node: Node, x: Array) -> Array:
    made: Array = np.logical_not(x)
    return made


@operator("Where")
def where(node: Node, condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


where.sized(broadcast_size)


@where.symbol
def where_symbol(b: GraphBuilder, node: Node, condition: Value, x: Value, y: Value,
                 ) -> Value | None:
    if not x.is_float or x.dtype != y.dtype or condition.const is None:
        return None
    return _chosen(b, condition.const, x, y)


def _chosen(b: GraphBuilder, condition: Array, x: Value, y: Value) -> Value | None:
    """One of two where the condition is the same everywhere."""
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    for value, all_of_it in ((x, condition.all()), (y, not condition.any())):
        if all_of_it and value.shape == shape:
            return value
    return None
