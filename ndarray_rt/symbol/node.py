"""Node and Entry: the graph itself. Knows nothing of names, users or execution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..op.params import Params
from ..op.registry import OpDef

# attribute of nodes; "False" makes them and their gradients run in NumPy
USE_ONEDNN = "__use_onednn__"


class Node:
    """A variable (`op` is None) or one application of an operator.

    `attrs` are the strings a user gave, including operator parameters; `params` are these parsed.
    If no strings were given they are made from `params` on first access. `inputs` are the
    operator's inputs, then its aux states. Immutable, except `attrs` and `name` of variables.
    `versions` are the write counts of inputs, if the file that the node comes from has other ones
    than follow from its operators.
    """

    __slots__ = ("__weakref__", "_attrs", "_outputs", "inputs", "name", "op", "params", "versions")

    def __init__(self, op: OpDef | None, name: str, attrs: dict[str, str] | None = None,
                 params: Params | None = None, inputs: Sequence[Entry] = ()) -> None:
        self.op = op
        self.name = name
        self._attrs: dict[str, str] | None = {} if attrs is None and params is None else attrs
        self.params = params
        self.inputs: list[Entry] = [*inputs]
        self.versions: tuple[int, ...] | None = None
        # number of outputs, once it was asked for
        self._outputs = 1 if op is None or params is None else 0

    @property
    def attrs(self) -> dict[str, str]:
        if self._attrs is None:
            assert self.params is not None
            self._attrs = self.params.to_attrs()
        return self._attrs

    @attrs.setter
    def attrs(self, value: dict[str, str]) -> None:
        self._attrs = value

    def over(self, inputs: Sequence[Entry]) -> Node:
        """The same operator with the same name on other inputs."""
        return Node(self.op, self.name, self._attrs, self.params, inputs)

    @property
    def is_variable(self) -> bool:
        return self.op is None

    @property
    def is_in_numpy(self) -> bool:
        """The user wants it to run in NumPy."""
        # set by users only, and so in strings
        return self._attrs is not None and self._attrs.get(USE_ONEDNN, "True") in ("False", "0")

    @property
    def num_outputs(self) -> int:
        """The number of outputs, including hidden ones."""
        if not self._outputs and self.op is not None and self.params is not None:
            self._outputs = len(self.op.output_names(self.params))
        return self._outputs

    @property
    def outputs(self) -> list[Entry]:
        if self._outputs == 1:
            return [Entry(self, 0)]
        return [Entry(self, i) for i in range(self.num_outputs)]

    def __repr__(self) -> str:
        return f"Node({'variable' if self.op is None else self.op.name} {self.name!r})"


class Entry(NamedTuple):
    """One output of a node. Nodes compare by identity, entries by node and index."""

    node: Node
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used here

    def __repr__(self) -> str:
        return f"{self.node.name}[{self.index}]"


def topological(heads: Iterable[Entry], kind: type[Node] = Node) -> list[Node]:
    """All nodes that the entries need, each after its inputs, in MXNet's order (depth first).

    Nodes of other kinds, and what only they need, are left out.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    for head in heads:
        if head.node in seen or not isinstance(head.node, kind):
            continue
        seen.add(head.node)
        stack: list[tuple[Node, Iterator[Entry]]] = [(head.node, iter(head.node.inputs))]
        while stack:
            node, inputs = stack[-1]
            for child, _ in inputs:
                if child in seen or (kind is not Node and not isinstance(child, kind)):
                    continue
                seen.add(child)
                if child.inputs:
                    stack.append((child, iter(child.inputs)))
                    break
                order.append(child)
            else:
                order.append(node)
                stack.pop()
    return order
