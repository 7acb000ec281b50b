"""Which inputs and outputs of an operator its gradient reads, so that the tape keeps only those."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import MXNetError
from ..op.params import Params
from ..op.registry import OpDef
from ..symbol.gradient import GraphEmit, make_node
from ..symbol.node import Entry, Node, topological
from .call import may_keep

CAPACITY = 1024


class Needs(NamedTuple):
    """Positions whose values a gradient reads; `unchecked`: inputs that calls may change."""

    inputs: frozenset[int]
    outputs: frozenset[int]
    unchecked: frozenset[int]


_known: dict[tuple[OpDef, Params], Needs] = {}


def needs_of(op: OpDef, params: Params) -> Needs:
    """What the gradient of this operator with these parameters reads."""
    if not op.pure:
        return _find_needs(op, params)  # not cached: parameters contain objects of users
    key = (op, params)
    found = _known.get(key)
    if found is None:
        found = _find_needs(op, params)
        if may_keep(op, params):
            if len(_known) >= CAPACITY:
                _known.clear()
            _known[key] = found
    return found


def _find_needs(op: OpDef, params: Params) -> Needs:
    names = (*op.input_names(params), *op.aux_names(params))
    aux = range(len(op.input_names(params)), len(names))
    unchecked = frozenset((*aux, *op.mutated(params)))
    nothing: frozenset[int] = frozenset()
    if op.gradient is None:
        return Needs(nothing, nothing, unchecked)
    variables = [Entry(Node(None, name), 0) for name in names]
    node = Node(op, "", {}, params, variables)
    try:
        made = _gradients(op, node, bool(op.is_loss))
    except MXNetError:
        # the gradient refuses these parameters; backward will report that
        everything = frozenset(range(len(names)))
        return Needs(everything, frozenset(range(node.num_outputs)), unchecked)
    inputs, outputs = set(), set()
    for entry in made:
        if entry.node is node:
            outputs.add(entry.index)
        elif entry in variables:
            inputs.add(variables.index(entry))
    return Needs(frozenset(inputs), frozenset(outputs), unchecked)


def _gradients(op: OpDef, node: Node, is_loss: bool) -> set[Entry]:
    """All entries that the gradient's nodes read as values, and those that it returns."""
    visible = op.num_visible(node.params) if node.params is not None else 1
    given: list[Entry | None] = [Entry(Node(None, f"grad{i}"), 0) if i < visible else None
                                 for i in range(node.num_outputs)]
    made: set[Entry] = set()
    cases: list[list[Entry | None]] = [given]
    if is_loss:
        cases.append([None] * len(given))
    for out_grads in cases:
        results = [entry for entry in op.gradient(GraphEmit(node, make_node), node, out_grads)
                   if entry is not None] if op.gradient is not None else []
        made.update(results)
        for other in topological([e for e in results if e.node is not node and e.node.op]):
            if other.op is None or other.params is None or other is node:
                continue
            ignored = other.op.ignored(other.params)
            made.update(entry for i, entry in enumerate(other.inputs) if i not in ignored)
    return made
