"""Lets a layer's primitive do what follows it: activation, sum, products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import FLOAT32
from ..op.registry import find
from ..ops.fused.post_ops import PostOp, chain_text, parse_chain
from ..symbol.node import Entry, Node
from .post_op_rules import COMMUTATIVE, binary_of, eltwise_of
from .rewrite import Facts, Heads, make, rewrite

FUSED = {"Convolution": "_fused_Convolution", "FullyConnected": "_fused_FullyConnected",
         "BatchNorm": "_fused_BatchNorm"}
# what takes operands beside functions
WITH_OPERANDS = frozenset({"_fused_Convolution", "_fused_FullyConnected"})
LONGEST = 8


def fuse_post_ops(heads: Sequence[Entry], facts: Facts) -> Heads:
    """A layer that one node reads does that node's work too, where it is elementwise (float32)."""
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None or node.num_outputs != 1 or not inputs:
            return None
        if facts.types[node.outputs[0]] != FLOAT32:
            return None
        post_op = eltwise_of(node)
        if post_op is not None and len(inputs) == 1:
            return _with_function(node, inputs[0], post_op, facts)
        name = binary_of(node)
        if name is None:
            return None
        return _with_operand(node, inputs, name, facts)
    return rewrite(heads, change)


def _with_function(node: Node, source: Entry, post_op: PostOp, facts: Facts,
                   ) -> list[Entry] | None:
    if not facts.used_once(node.inputs[0]):
        return None
    return _appended(node, source, post_op, [])


def _with_operand(node: Node, inputs: list[Entry], name: str, facts: Facts,
                  ) -> list[Entry] | None:
    """Into the layer that comes later in the graph, so that the operand is ready before it."""
    out = facts.shapes[node.outputs[0]]
    sides = [1, 0] if name in COMMUTATIVE else [0]
    for side in sides:
        own, other = node.inputs[side], node.inputs[1 - side]
        if (own == other or not facts.used_once(own) or facts.shapes[own] != out
                or len(facts.shapes[other]) != len(out) or facts.types[other] != FLOAT32):
            continue
        made = _appended(node, inputs[side], PostOp(name), [inputs[1 - side]])
        if made is not None:
            return made
    return None


def _appended(node: Node, source: Entry, post_op: PostOp, operands: list[Entry],
              ) -> list[Entry] | None:
    """The layer `source` with one post-op more, under the node's name; None when it takes none."""
    layer = source.node
    if layer.op is None or layer.params is None or source.index != 0:
        return None
    name = FUSED.get(layer.op.name, layer.op.name)
    if name not in FUSED.values() or (operands and name not in WITH_OPERANDS):
        return None
    params: Any = layer.params
    if layer.op.name == "BatchNorm" and params.output_mean_var:
        return None
    chain = parse_chain(params.post_ops) if layer.op.name == name else ()
    if len(chain) >= LONGEST:
        return None
    attrs = {**params.to_attrs(), "post_ops": chain_text([*chain, post_op])}
    parsed = find(name).params.parse(attrs, name, node.name)
    return make(name, parsed, [*layer.inputs, *operands], node.name).outputs
