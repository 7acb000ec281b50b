"""Fuses consecutive elementwise operators into one node, and so one pass over memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import in_float32
from ..op.elementwise import PostOp
from ..ops.fused.elementwise import fits, one_pass
from ..ops.fused.post_ops import chain_text, parse_chain
from ..symbol.node import Entry, Node
from .post_op_rules import COMMUTATIVE, LONGEST, binary_of, chain_of, is_slow, joined
from .rewrite import Facts, Heads, make, rewrite

FUSED = "_fused_elementwise"
Dims = tuple[int, ...]


def fuse_elementwise(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Fuses chains of such nodes, each read by the next one only. Operands have the result's shape
    or broadcast to it over the same axes (float32, float16, bfloat16)."""
    # shapes of the operands of nodes made here
    parts: dict[Node, list[Dims]] = {}

    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None or not inputs or not in_float32(facts.types[node.outputs[0]]):
            return None
        out = facts.shapes[node.outputs[0]]
        if 0 in out or not out:
            return None
        chain = chain_of(node)
        post_op = binary_of(node, facts)
        if chain and len(inputs) == 1:
            return _added(node, 0, inputs, chain, [])
        if post_op is None:
            return None
        for side in [0, 1] if post_op.name in COMMUTATIVE else [0]:
            other = node.inputs[1 - side]
            shape = facts.shapes[other]
            if facts.shapes[node.inputs[side]] == out and fits(out, shape) and (
                    facts.types[other] == facts.types[node.inputs[side]]):
                made = _added(node, side, inputs, (post_op,), [shape])
                if made is not None:
                    return made
        return None

    def _added(node: Node, side: int, inputs: list[Entry], more: Sequence[PostOp],
               shapes: list[Dims]) -> list[Entry] | None:
        """The node before `node`, extended by its work."""
        own = node.inputs[side]
        before = inputs[side].node
        if not facts.used_once(own) or before.op is None or (
                any(entry == own for i, entry in enumerate(node.inputs) if i != side)):
            return None
        start = _start(before, own, facts, parts)
        if start is None:
            return None
        first, chain, known = start
        whole = joined(chain, more)
        if len(whole) > LONGEST or not one_pass(facts.shapes[own], [*known, *shapes]):
            return None
        operands = [inputs[1 - side]] if shapes else []
        made = make(FUSED, {"post_ops": chain_text(whole)}, [*first, *operands], node.name)
        parts[made] = [*known, *shapes]
        return made.outputs

    return rewrite(heads, change)


def _start(before: Node, own: Entry, facts: Facts, parts: dict[Node, list[Dims]],
           ) -> tuple[list[Entry], Sequence[PostOp], list[Dims]] | None:
    """(inputs, chain, shapes of operands) of the node to extend."""
    p: Any = before.params
    assert before.op is not None
    if before.op.name == FUSED:
        known, made = parts.get(before, []), parse_chain(p.post_ops)
        return (before.inputs, made, known) if (
            len(known) == len(before.inputs) - 1 and not is_slow(made)) else None
    chain = chain_of(before)
    if chain and len(before.inputs) == 1:
        return before.inputs, chain, []
    post_op = binary_of(own.node, facts) if own.node.op is before.op else None
    if post_op is None:
        return None
    # the node may be a changed one, in the place of a node of the old graph
    shapes = [facts.shapes.get(entry) for entry in own.node.inputs]
    if len(shapes) != 2 or None in shapes:
        return None
    out = facts.shapes[own]
    for side in [0, 1] if post_op.name in COMMUTATIVE else [0]:
        other = shapes[1 - side]
        if shapes[side] == out and other is not None and fits(out, other):
            return [before.inputs[side], before.inputs[1 - side]], (post_op,), [other]
    return None
