"""The tape as an ordinary graph, for autograd.get_symbol. Keeps no values."""

from __future__ import annotations

from ..symbol.node import Entry, Node, topological


def history(entry: Entry) -> Entry:
    """A copy of what led to an entry, with names for nodes and variables."""
    made: dict[Node, Node] = {}
    variables = operators = 0
    for node in topological([entry]):
        if node.op is None or node.params is None:
            made[node] = Node(None, f"var{variables}")
            variables += 1
            continue
        inputs = [Entry(made[e.node], e.index) for e in node.inputs]
        name = node.name or f"node_{operators}"
        made[node] = Node(node.op, name, node.params.to_attrs(), node.params, inputs)
        operators += 1
    return Entry(made[entry.node], entry.index)
