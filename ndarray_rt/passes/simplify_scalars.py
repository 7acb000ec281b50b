"""Drops and merges arithmetic with numbers: x * 1, x - 0, x * a * b, x + a + b."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..dtypes import FLOAT32, FLOAT64
from ..op.elementwise import Place, X
from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, rewrite

_FACTORS = frozenset({"mul", "div"})
_SHIFTS = {"add": 1.0, "sub": -1.0}
# merged factors must stay well inside the range of floats
_LEAST, _GREATEST = 2.0 ** -20, 2.0 ** 20


def simplify_scalars(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Drops operations that change no bit, in any dtype. In float32 and float64 merges two factors,
    and two shifts of equal sign (in x + a - b digits may cancel). An output of the graph keeps its
    node."""
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
    word, number = _with_number(node)
    if word in _FACTORS or word == "power":
        return number == 1
    # x - 0.0 is x, but -0.0 + 0.0 is 0.0
    return word in _SHIFTS and number == 0 and math.copysign(1.0, number) * _SHIFTS[word] < 0


def _with_number(node: Node) -> tuple[str, float]:
    """The operation on an element and a number, and the number; "" for other operators."""
    assert node.op is not None
    assert node.params is not None
    said = node.op.elementwise_of(node.params)
    if said is None or len(said.args) != 2 or said.args[0] != X or isinstance(said.args[1], Place):
        return "", 0.0
    return said.word, said.args[1]


def _joined(node: Node, before: Node) -> list[Entry] | None:
    if before.op is None or node.op is None or len(before.inputs) != 1:
        return None
    (first, q), (second, p) = _with_number(before), _with_number(node)
    if {first, second} <= _FACTORS:
        a, b = (s if word == "mul" else 1 / s if s else math.inf
                for word, s in ((first, q), (second, p)))
        if all(_LEAST <= abs(s) <= _GREATEST for s in (a, b)):
            return make("_mul_scalar", {"scalar": a * b}, before.inputs, node.name).outputs
    elif first in _SHIFTS and second in _SHIFTS:
        a, b = q * _SHIFTS[first], p * _SHIFTS[second]
        if a * b > 0 and math.isfinite(a + b):
            return make("_plus_scalar", {"scalar": a + b}, before.inputs, node.name).outputs
    return None
