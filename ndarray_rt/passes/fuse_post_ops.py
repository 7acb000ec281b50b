"""Fuses activations, sums and products into the layer before them, as post-ops."""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import in_float32
from ..op.elementwise import PostOp
from ..op.epilogue import Epilogue
from ..op.params import Params
from ..op.registry import find
from ..ops.fused.post_ops import chain_text, parse_chain
from ..symbol.node import Entry, Node
from .post_op_rules import COMMUTATIVE, LONGEST, binary_of, chain_of, joined
from .rewrite import Facts, Heads, make, rewrite


def fuse_post_ops(heads: Sequence[Entry], facts: Facts) -> Heads:
    """A layer with one reader also does that node's work if it is elementwise (float32 and 16
    bits).
    """
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None or not inputs or not in_float32(facts.types[node.outputs[0]]):
            return None
        chain = chain_of(node)
        if chain and len(inputs) == 1:
            if not facts.used_once(node.inputs[0]):
                return None
            return _appended(node, inputs[0], chain, None, facts)
        post_op = binary_of(node, facts)
        if post_op is None:
            return None
        return _with_operand(node, inputs, post_op, facts)
    return rewrite(heads, change)


def _with_operand(node: Node, inputs: list[Entry], post_op: PostOp, facts: Facts,
                  ) -> list[Entry] | None:
    """Fuses into the later of two layers, so that the operand is computed before it."""
    out = facts.shapes[node.outputs[0]]
    sides = [1, 0] if post_op.name in COMMUTATIVE else [0]
    for side in sides:
        own, other = node.inputs[side], node.inputs[1 - side]
        if (own == other or not facts.used_once(own) or facts.shapes[own] != out
                or facts.types[other] != facts.types[own]):
            continue
        made = _appended(node, inputs[side], (post_op,),
                         (inputs[1 - side], facts.shapes[other]), facts)
        if made is not None:
            return made
    return None


def _appended(node: Node, source: Entry, more: Sequence[PostOp],
              operand: tuple[Entry, tuple[int, ...]] | None, facts: Facts) -> list[Entry] | None:
    """The layer `source` with additional post-ops, under the node's name; None if it takes none."""
    layer = source.node
    if layer.op is None or layer.params is None or source.index != 0:
        return None
    epilogue, params = layer.op.epilogue, layer.params
    if epilogue is None or not epilogue.accepts(params):
        return None
    name = epilogue.op
    before = parse_chain(getattr(params, "post_ops", ""))
    chain = joined(before, more)
    if len(chain) > LONGEST:
        return None
    attrs = {**params.to_attrs(), "post_ops": chain_text(chain)}
    parsed = find(name).params.parse(attrs, name, node.name)
    operands: list[Entry] = []
    if operand is not None:
        found = _operand(node, epilogue, parsed, operand, facts.shapes[node.outputs[0]])
        if found is None:
            return None
        operands.append(found)
    return make(name, parsed, [*layer.inputs, *operands], node.name).outputs[:1]


def _operand(node: Node, epilogue: Epilogue, params: Params,
             operand: tuple[Entry, tuple[int, ...]], out: tuple[int, ...]) -> Entry | None:
    """The operand reshaped to the rank of the result; None if the layer does not take it."""
    entry, shape = operand
    lead = len(out) - len(shape)
    if lead < 0 or not epilogue.accepts_operand(
            params, out, (*(1,) * lead, *shape)):
        return None
    if not lead:
        return entry
    if len(shape) != 1:
        return None
    return Entry(make("Reshape", {"shape": (*(1,) * lead, -1)}, [entry],
                      f"{node.name}_operand"), 0)
