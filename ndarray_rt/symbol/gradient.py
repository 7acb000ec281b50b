"""The gradient of a graph, as another graph. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import MXNetError, where
from ..op.params import NoParams, Params
from ..op.registry import find
from .infer import rule_of
from .node import USE_ONEDNN, Entry, Node, topological

MakeNode = Callable[[str, Params, Sequence[Entry], str], Node]
# an operator and the gradients made for it, by the number of the input; None means zeros
Tell = Callable[[Node, list[tuple[int, Entry | None]]], None]


def make_node(op_name: str, params: Params, inputs: Sequence[Entry], name: str) -> Node:
    """A node of an operator with parsed parameters; its attrs are the parameters as strings."""
    return Node(find(op_name), name, params.to_attrs(), params, inputs)


class GraphEmit:
    """The `emit` of gradient functions: makes nodes named after the one being differentiated."""

    def __init__(self, forward: Node, make: MakeNode) -> None:
        self._forward = forward
        self._make = make
        self._count = 0
        self.made: set[Node] = set()

    def __call__(self, op: str, params: Params | Mapping[str, object] | None,
                 *inputs: Entry) -> list[Entry]:
        definition = find(op)
        name = f"{self._forward.name}_backward" + (f"_{self._count}" if self._count else "")
        self._count += 1
        if params is None:
            params = definition.params() if definition.params is not NoParams else NoParams()
        elif not isinstance(params, Params):
            params = definition.params.parse(params, op, name)
        node = self._make(op, params, inputs, name)
        if self._forward.is_in_numpy:
            node.attrs = {**node.attrs, USE_ONEDNN: "False"}
        self.made.add(node)
        return node.outputs

    def zeros_like(self, entry: Entry) -> Entry:
        return self("zeros_like", None, entry)[0]


def gradient_graph(heads: Sequence[Entry], head_grads: Sequence[Entry | None],
                   wrt: Sequence[Entry], make: MakeNode = make_node,
                   tell: Tell | None = None) -> list[Entry | None]:
    """Entries of d(sum of heads) / d(each of `wrt`); None where the heads do not depend on it.

    `head_grads` are the gradients of the heads; None means ones, and is also allowed for loss
    operators, whose gradient does not depend on it. `make` makes the nodes. `tell` is called with
    the gradients of each operator that were made for it, not with those passed through unchanged.
    Raises MXNetError if a node on the way has no gradient.
    """
    order = topological(heads)
    needed = _needs_gradient(order, {entry.node for entry in wrt})
    terms: dict[Entry, list[Entry]] = {}
    losses: set[Node] = set()
    for head, grad in zip(heads, head_grads, strict=True):
        if head.node in needed:
            if grad is None and head.node.op is not None and head.node.op.is_loss:
                losses.add(head.node)
                continue
            if grad is None:
                grad = make("ones_like", find("ones_like").params(), [head],
                            f"{head.node.name}_head_grad").outputs[0]
            terms.setdefault(head, []).append(grad)
    totals: dict[Entry, Entry | None] = {}

    def total(entry: Entry) -> Entry | None:
        if entry not in totals:
            found = terms.get(entry, [])
            totals[entry] = _sum(found, entry, make) if found else None
        return totals[entry]

    for node in reversed(order):
        if node.op is None or node not in needed:
            continue
        out_grads = [total(entry) for entry in node.outputs]
        if node.op.gradient is None:
            if node.op.no_gradient.startswith("zero"):
                continue
            if any(grad is not None for grad in out_grads):
                raise MXNetError(f"{where(node.op.name, node.name)} has no gradient: "
                                 f"{node.op.no_gradient or 'none is declared'}")
            continue
        if all(grad is None for grad in out_grads) and node not in losses:
            continue
        emit = GraphEmit(node, make)
        if node.params is not None and node not in losses:
            for i in range(node.op.num_visible(node.params)):
                if out_grads[i] is None:
                    out_grads[i] = emit.zeros_like(node.outputs[i])
        rule_of(node)  # raises if inputs are missing
        grads = node.op.gradient(emit, node, out_grads)
        if tell is not None and emit.made:
            tell(node, [(i, grad) for i, grad in enumerate(grads)
                        if grad is None or grad.node in emit.made])
        for entry, grad in zip(node.inputs, grads, strict=False):
            if grad is not None and entry.node in needed:
                terms.setdefault(entry, []).append(grad)
    return [total(entry) for entry in wrt]


def _needs_gradient(order: Sequence[Node], leaves: set[Node]) -> set[Node]:
    """Nodes through which a gradient reaches one of the leaves."""
    needed: set[Node] = set()
    for node in order:
        if node in leaves or any(entry.node in needed for entry in node.inputs):
            needed.add(node)
    return needed


def _sum(found: list[Entry], entry: Entry, make: MakeNode) -> Entry:
    if len(found) == 1:
        return found[0]
    params = find("add_n").params.parse({"num_args": len(found)}, "add_n")
    return make("add_n", params, found, f"{entry.node.name}_grad_sum").outputs[0]
