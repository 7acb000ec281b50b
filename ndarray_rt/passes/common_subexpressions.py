"""Common subexpression elimination: merges nodes with equal operators, parameters and inputs."""

from __future__ import annotations

from collections.abc import Sequence

from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, rewrite


def merge_equal_nodes(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Keeps the first of equal nodes. Random operators and those that write to an input are not
    merged. Outputs of the graph keep nodes of their own."""
    seen: dict[object, Node] = {}
    kept = {entry.node for entry in facts.heads}

    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        op, params = node.op, node.params
        assert op is not None
        assert params is not None
        if op.draws(params) or op.mutated(params) or node in kept:
            return None
        key = (op.name, params, tuple(inputs))
        found = seen.get(key)
        if found is not None:
            return found.outputs
        new = node if inputs == node.inputs else node.over(inputs)
        seen[key] = new
        return new.outputs
    return rewrite(heads, change)
