"""Which nodes run once, and again only when a variable that they read has changed."""

from __future__ import annotations

from collections.abc import Sequence

from ..symbol.node import Entry, Node, topological


def prologue_nodes(heads: Sequence[Entry]) -> list[Node]:
    """The nodes whose operator `is_prologue` and whose inputs are variables or outputs of other
    such nodes; each after its inputs."""
    found: dict[Node, None] = {}
    for node in topological(heads):
        if node.op is None or not node.op.is_prologue:
            continue
        if all(entry.node.is_variable or entry.node in found for entry in node.inputs):
            found[node] = None
    return list(found)


def is_parameter(entry: Entry) -> bool:
    """A variable, or a value computed from variables by prologue nodes."""
    node = entry.node
    return node.is_variable or (
        node.op is not None and node.op.is_prologue
        and all(is_parameter(source) for source in node.inputs))
