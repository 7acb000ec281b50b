"""Drops and joins arithmetic with numbers: x * 1, x - 0, x * a * b, x + a + b."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..dtypes import FLOAT32, FLOAT64
from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, rewrite

_FACTORS = frozenset({"_mul_scalar", "_div_scalar"})
_SHIFTS = {"_plus_scalar": 1.0, "_minus_scalar": -1.0}
# joined factors neither leave the range of floats nor come near its ends
_LEAST, _GREATEST = 2.0 ** -20, 2.0 ** 20


def simplify_scalars(heads: Sequence[Entry], facts: Facts) -> Heads:
    """What leaves every bit as it is goes, in any dtype. In float32 and float64 two factors
    become one, and two shifts in one direction: of x + a - b much may cancel. An output of the
    graph keeps its node."""
    kept = {entry.node for entry in facts.heads}

    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None or len(node.inputs) != 1 or node.num_outputs != 1:
            return None
        dtype = facts.types[node.outputs[0]]
        if node not in kept and _changes_nothing(node) and facts.types[node.inputs[0]] == dtype:
            return [inputs[0]]
        if dtype not in (FLOAT32, FLOAT64) or not facts.used_once(node.inputs[0]):
            return None
        return _joined(node, inputs[0].node)
    return rewrite(heads, change)


def _changes_nothing(node: Node) -> bool:
    assert node.op is not None
    p: Any = node.params
    name = node.op.name
    if name in ("_mul_scalar", "_div_scalar", "_power_scalar"):
        return bool(p.scalar == 1)
    if name in _SHIFTS:
        # -0.0 + 0.0 is 0.0, but -0.0 - 0.0 stays
        return bool(p.scalar == 0) and math.copysign(_SHIFTS[name], p.scalar * _SHIFTS[name]) < 0
    return False


def _joined(node: Node, before: Node) -> list[Entry] | None:
    if before.op is None or node.op is None or len(before.inputs) != 1:
        return None
    p: Any = node.params
    q: Any = before.params
    first, second = before.op.name, node.op.name
    if {first, second} <= _FACTORS:
        a, b = (s if name == "_mul_scalar" else 1 / s if s else math.inf
                for name, s in ((first, q.scalar), (second, p.scalar)))
        if all(_LEAST <= abs(s) <= _GREATEST for s in (a, b)):
            return make("_mul_scalar", {"scalar": a * b}, before.inputs, node.name).outputs
    elif first in _SHIFTS and second in _SHIFTS:
        a, b = q.scalar * _SHIFTS[first], p.scalar * _SHIFTS[second]
        if a * b > 0 and math.isfinite(a + b):
            return make("_plus_scalar", {"scalar": a + b}, before.inputs, node.name).outputs
    return None
