"""The tape as an ordinary graph, for autograd.get_symbol. Keeps no values."""

from __future__ import annotations

from collections.abc import Sequence

from ..symbol.node import Entry, Node, topological
from .function import FunctionParams
from .tape import TapeNode


class _Copy:
    """Makes the nodes of the new graph, with numbered names."""

    def __init__(self) -> None:
        self._variables = self._operators = 0

    def variable(self) -> Entry:
        self._variables += 1
        return Entry(Node(None, f"var{self._variables - 1}"), 0)

    def operator(self, node: Node, inputs: Sequence[Entry]) -> list[Entry]:
        """The outputs of a node like `node`."""
        assert node.op is not None
        assert node.params is not None
        name = node.name or f"node_{self._operators}"
        self._operators += 1
        return Node(node.op, name, node.params.to_attrs(), node.params, inputs).outputs

    def inlined(self, heads: Sequence[Entry], inputs: Sequence[Entry]) -> list[Entry]:
        """The outputs of a graph whose variables are replaced by `inputs`, in order."""
        left = iter(inputs)
        made: dict[Node, list[Entry]] = {}
        for node in topological(heads):
            made[node] = ([next(left)] if node.op is None else self.operator(
                node, [made[e.node][e.index] for e in node.inputs]))
        return [made[e.node][e.index] for e in heads]


def history(entry: Entry) -> Entry:
    """A copy of the graph that computed an entry, with names for nodes and variables.

    A CachedOp with at most `inline_limit` operators is replaced by these.
    """
    copy = _Copy()
    made: dict[Node, list[Entry]] = {}
    for node in topological([entry]):
        if node.op is None or node.params is None:
            outputs = len(node.output_facts) if isinstance(node, TapeNode) else 1
            made[node] = [copy.variable() for _ in range(outputs)]
            continue
        inputs = [made[e.node][e.index] for e in node.inputs]
        graph = node.params.call.inlined if isinstance(node.params, FunctionParams) else None
        made[node] = (copy.operator(node, inputs) if graph is None
                      else copy.inlined(graph, inputs))
    return made[entry.node][entry.index]
