"""Which nodes are computed once, and again only when a variable that they read has changed."""

from __future__ import annotations

from collections.abc import Sequence

from ..op.registry import REGISTRY
from ..symbol.node import Entry, Node, topological


def prologue_nodes(heads: Sequence[Entry]) -> list[Node]:
    """The nodes whose operator has the registry's attribute "prologue", and whose inputs are
    variables or outputs of other such nodes; each after its inputs.

    The attribute says: this is small work on parameters, made by a pass, that is worth keeping.
    """
    found: dict[Node, None] = {}
    for node in topological(heads):
        if node.op is None or not REGISTRY.get_attr(node.op.name, "prologue", False):
            continue
        if all(entry.node.is_variable or entry.node in found for entry in node.inputs):
            found[node] = None
    return list(found)
