"""Drops operators without effect at inference: dropout, copies, reshapes to the same shape."""

from __future__ import annotations

from collections.abc import Sequence

from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, rewrite


def drop_identities(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Readers of an identity read its input instead. An output of the graph keeps a node of its
    own, as it must share memory neither with a user's array nor with another output."""
    kept = set(facts.heads)

    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if any(entry in kept for entry in node.outputs):
            return None
        assert node.op is not None
        if node.op.name == "Flatten" and _only_dense_readers(node, facts):
            return [inputs[0]]
        if _is_identity(node, facts):
            return [inputs[0]] * node.num_outputs
        return _joined(node, inputs, facts)
    return rewrite(heads, change)


def _is_identity(node: Node, facts: Facts) -> bool:
    op, params = node.op, node.params
    if op is None or params is None or not node.inputs:
        return False
    source, target = node.inputs[0], node.outputs[0]
    return (op.is_identity(params, len(facts.shapes[target]))
            and not any(facts.uses[entry] for entry in node.outputs[1:])
            and facts.shapes[source] == facts.shapes[target]
            and facts.types[source] == facts.types[target])


def _only_dense_readers(node: Node, facts: Facts) -> bool:
    """All readers flatten their input themselves."""
    readers = facts.readers(node.outputs[0])
    return bool(readers) and all(
        reader.op is not None and reader.op.flattens is not None
        and reader.op.flattens(reader.params) and reader.inputs[0].node is node
        and node not in [entry.node for entry in reader.inputs[1:]] for reader in readers)


def _joined(node: Node, inputs: list[Entry], facts: Facts) -> list[Entry] | None:
    """Joins two reshapes in a row, and two transposes."""
    before = inputs[0].node if inputs else None
    if before is None or before.op is None or node.op is None:
        return None
    if node.op.reshapes and before.op.reshapes:
        shape = facts.shapes[node.outputs[0]]
        # the shape of a node made by this pass is not known: then it stays a reshape
        if shape == facts.shapes.get(before.inputs[0]):
            return [before.inputs[0]]
        if 0 in shape:
            return None
        # the first axis is the batch, left to shape inference
        return make("Reshape", {"shape": (-1, *shape[1:])}, [before.inputs[0]],
                    node.name).outputs
    if node.op.permutes is not None and before.op.permutes is not None:
        rank = len(facts.shapes[node.outputs[0]])
        first = before.op.permutes(before.params, rank)
        axes = tuple([first[axis] for axis in node.op.permutes(node.params, rank)])
        if axes == tuple(range(rank)):
            return [before.inputs[0]]
        return make("transpose", {"axes": axes}, [before.inputs[0]], node.name).outputs
    return None
