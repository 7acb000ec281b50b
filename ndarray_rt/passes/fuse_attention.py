"""Lets attention's batch_dot read and write arrays with heads side by side, without transposes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..dtypes import in_float32
from ..op.elementwise import PostOp
from ..ops.fused.post_ops import chain_text
from ..symbol.node import Entry, Node
from .match import term_of
from .rewrite import Facts, Heads, make, replace

_SPLIT, _TURNED = (0, 2, 1, 3), (0, 2, 3, 1)


class _Side(NamedTuple):
    """One operand of a product: its source, and what is done to it on the way."""

    source: Entry
    heads: int = 0  # 0: read as it is
    turned: bool = False
    scale: float = 1.0


def fuse_attention(heads: Sequence[Entry], facts: Facts) -> Heads:
    """A batch_dot absorbs scalar factors of its operands, the splitting of (B, T, heads * D) into
    (B * heads, T, D) before it and the merging after it, if no other node reads in between."""
    joins = {found[0].node: (node, found[1]) for node, found in _joins(heads, facts).items()}
    roots = {root: product for product, (root, _) in joins.items()}

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        product = roots.get(node, node)
        if product is not node or (node not in joins and _is_product(node, facts)):
            return _product(product, node, joins.get(product, (node, 0))[1], now, facts)
        return None
    return replace(heads, change)


def _is_product(node: Node, facts: Facts) -> bool:
    if node.op is None or node.op.name != "batch_dot":
        return False
    out = node.outputs[0]
    return in_float32(facts.types[out]) and len(facts.shapes[out]) == 3 and (
        math.prod(facts.shapes[out]) > 0)


def _product(node: Node, root: Node, joined: int, now: Mapping[Entry, Entry], facts: Facts,
             ) -> list[Entry] | None:
    """The product with everything that it can absorb, under the name of `root`."""
    a, b = (_side(entry, facts) for entry in node.inputs)
    wanted = joined or a.heads or b.heads
    # all operands that are split must be split in the same way
    a, b = (side if side.heads in (0, wanted) else _Side(entry)
            for side, entry in zip((a, b), node.inputs, strict=True))
    scale = a.scale * b.scale
    if not wanted and scale == 1.0:
        return None
    p: Any = node.params
    attrs = {"transpose_a": p.transpose_a != a.turned, "transpose_b": p.transpose_b != b.turned,
             "heads": wanted, "split_a": a.heads > 0, "split_b": b.heads > 0, "join": joined > 0,
             "post_ops": chain_text([PostOp("linear", scale, -0.0)] if scale != 1.0 else [])}
    return make("_fused_batch_dot", attrs, [now[a.source], now[b.source]], root.name).outputs


def _side(entry: Entry, facts: Facts) -> _Side:
    scale, at = 1.0, entry
    while (found := _factor(at, facts)) is not None:
        at, scale = found[0], scale * found[1]
    split = _split_from(at, facts)
    if split is None:
        return _Side(at, scale=scale)
    source, heads, turned = split
    return _Side(source, heads, turned, scale)


def _factor(entry: Entry, facts: Facts) -> tuple[Entry, float] | None:
    """(entry, number) if this entry, which only the product reads, is their product."""
    term = term_of(entry)
    if term is None or term.op not in ("mul", "div") or not facts.used_once(entry):
        return None
    x, number = term.args
    if not isinstance(x, Entry) or isinstance(number, Entry) or not 1e-6 < abs(number) < 1e6 or (
            facts.shapes[x] != facts.shapes[entry]):
        return None
    return x, number if term.op == "mul" else 1 / number


def _reshaped(entry: Entry, facts: Facts) -> Entry | None:
    """The source of a reshape that nobody else reads."""
    node = entry.node
    if node.op is None or not node.op.reshapes or not facts.used_once(entry):
        return None
    return node.inputs[0]


def _transposed(entry: Entry | None, facts: Facts) -> tuple[Entry, tuple[int, ...]] | None:
    """(source, axes) of a transpose of four axes that nobody else reads."""
    op = None if entry is None else entry.node.op
    if entry is None or op is None or op.permutes is None or len(facts.shapes[entry]) != 4 or (
            not facts.used_once(entry)):
        return None
    return entry.node.inputs[0], op.permutes(entry.node.params, 4)


def _split_from(entry: Entry, facts: Facts) -> tuple[Entry, int, bool] | None:
    """For (B * heads, T, D): (array with heads side by side, heads, whether matrices are
    transposed).
    """
    found = _transposed(_reshaped(entry, facts), facts)
    if found is None or found[1] not in (_SPLIT, _TURNED):
        return None
    source = _reshaped(found[0], facts)
    if source is None:
        return None
    batch, rows, heads, size = facts.shapes[found[0]]
    turned = found[1] == _TURNED
    matrix = (size, rows) if turned else (rows, size)
    if facts.shapes[source] != (batch, rows, heads * size) or (
            facts.shapes[entry] != (batch * heads, *matrix)):
        return None
    return source, heads, turned


def _joins(heads: Sequence[Entry], facts: Facts) -> dict[Node, tuple[Entry, int]]:
    """The nodes that end a merging of heads -> (product, heads)."""
    found: dict[Node, tuple[Entry, int]] = {}
    nodes = {node for entry in facts.uses for node in facts.readers(entry)}
    for node in nodes:
        if node.op is None or not node.op.reshapes:
            continue
        before = _transposed(node.inputs[0], facts)
        if before is None or before[1] != _SPLIT:
            continue
        product = _reshaped(before[0], facts)
        if product is None or not _is_product(product.node, facts) or (
                not facts.used_once(product)):
            continue
        batch, count, rows, size = facts.shapes[before[0]]
        if facts.shapes[product] == (batch * count, rows, size) and (
                facts.shapes[node.outputs[0]] == (batch, rows, count * size)):
            found[node] = (product, count)
    return found
