"""Rewrites a graph bottom-up: nodes are replaced, never changed. Knows no operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..dtypes import DType
from ..op.infer import known, run_infer_shape
from ..op.params import Params
from ..op.registry import find
from ..symbol.node import Entry, Node, topological

Heads = list[Entry]


@dataclass
class Facts:
    """Shapes, dtypes and readers of a graph's entries before it is rewritten."""

    shapes: Mapping[Entry, tuple[int, ...]]
    types: Mapping[Entry, DType]
    heads: Sequence[Entry]
    uses: Counter[Entry] = field(default_factory=Counter)
    _readers: dict[Entry, list[Node]] = field(default_factory=dict)
    _open: set[Node] = field(default_factory=set)
    _heads: frozenset[Entry] = frozenset()

    def __post_init__(self) -> None:
        self._heads = frozenset(self.heads)
        for node in topological(self.heads):
            self.uses.update(node.inputs)
            if any(entry.node in self._open for entry in node.inputs) or _has_no_shape(node):
                self._open.add(node)
            for entry in dict.fromkeys(node.inputs):
                self._readers.setdefault(entry, []).append(node)
        self.uses.update(self.heads)

    def readers(self, entry: Entry) -> list[Node]:
        """The nodes that read an entry."""
        return self._readers.get(entry, [])

    def is_open(self, entry: Entry) -> bool:
        """The shape may be inferred from readers of the entry, not from its inputs alone."""
        return entry.node in self._open

    def is_head(self, entry: Entry) -> bool:
        """The entry is an output of the graph."""
        return entry in self._heads

    def used_once(self, entry: Entry) -> bool:
        """One node reads the entry, and it is no head; other outputs of its node are not read."""
        return self.uses[entry] == 1 and not self.is_head(entry) and all(
            other == entry or not self.uses[other] for other in entry.node.outputs)


def _has_no_shape(node: Node) -> bool:
    """A node without inputs whose parameters leave part of its shape to inference."""
    op, params = node.op, node.params
    if op is None or params is None or node.inputs:
        return False
    _, shapes = run_infer_shape(op, params, [], [None] * node.num_outputs, node.name)
    return not all(known(shape) for shape in shapes)


# (node, its new inputs) -> the entries that replace its outputs, or None to keep the node
Change = Callable[[Node, list[Entry]], "list[Entry] | None"]
# (node, replacements of all earlier entries) -> the same
Replace = Callable[[Node, Mapping[Entry, Entry]], "list[Entry] | None"]


def rewrite(heads: Sequence[Entry], change: Change) -> Heads:
    """The heads of the graph after `change` was applied to each node, inputs first."""
    return replace(heads, lambda node, now: change(node, [now[entry] for entry in node.inputs]))


def replace(heads: Sequence[Entry], change: Replace) -> Heads:
    """`rewrite` for changes that need more than a node's own inputs.

    A change that gives no replacement for an output that is read is not made.
    """
    now: dict[Entry, Entry] = {}
    order = topological(heads)
    read: set[Entry] = set()
    for node in order:
        if node.op is None:
            entry = Entry(node, 0)
            now[entry] = entry
            continue
        made = change(node, now)
        if made is not None and len(made) < node.num_outputs:
            read = read or {*heads, *(entry for reader in order for entry in reader.inputs)}
            if not read.isdisjoint(node.outputs[len(made):]):
                made = None
        if made is None:
            inputs = [now[entry] for entry in node.inputs]
            if inputs == node.inputs:
                for entry in node.outputs:
                    now[entry] = entry
                continue
            made = node.over(inputs).outputs
        for entry, new in zip(node.outputs, made, strict=False):
            now[entry] = new
    return [now[entry] for entry in heads]


def make(op_name: str, params: Params | Mapping[str, object], inputs: Sequence[Entry],
         name: str) -> Node:
    """A node of an operator."""
    op = find(op_name)
    if not isinstance(params, Params):
        params = op.params.parse(params, op_name, name)
    return Node(op, name, None, params, inputs)
