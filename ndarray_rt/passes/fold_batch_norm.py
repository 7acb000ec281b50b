"""Folds batch normalisation into the layer before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import in_float32
from ..op.epilogue import AffineFold
from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, rewrite


def fold_batch_norms(heads: Sequence[Entry], facts: Facts) -> Heads:
    """A layer that only a BatchNorm reads gets the weight and bias of both (float32 and 16
    bits)."""
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None or node.op.name != "BatchNorm":
            return None
        layer = inputs[0].node
        fold = _fold_of(layer, len(facts.shapes[node.inputs[0]]))
        if fold is None or not _may_fold(node, facts):
            return None
        return [_folded(node, inputs, layer, fold)] * node.num_outputs
    return rewrite(heads, change)


def _fold_of(layer: Node, rank: int) -> AffineFold | None:
    op = layer.op
    if op is None or op.folds_affine is None:
        return None
    return op.folds_affine(layer.params, rank)


def _may_fold(node: Node, facts: Facts) -> bool:
    params: Any = node.params
    source = node.inputs[0]
    if any(facts.uses[entry] for entry in node.outputs[1:]) or params.output_mean_var:
        return False
    return (facts.used_once(source) and in_float32(facts.types[source])
            and params.axis % len(facts.shapes[source]) == 1)


def _folded(node: Node, inputs: list[Entry], layer: Node, fold: AffineFold) -> Entry:
    norm: Any = node.params
    params: Any = layer.params
    assert layer.op is not None
    facts = {"eps": norm.eps, "fix_gamma": norm.fix_gamma, "no_bias": params.no_bias,
             **fold._asdict()}
    made = make("_fold_batch_norm", facts, [*layer.inputs[1:], *inputs[1:]],
                f"{node.name}_folded")
    attrs = {**params.to_attrs(), "no_bias": "False"}
    return Entry(make(layer.op.name, attrs, [layer.inputs[0], *made.outputs], node.name), 0)
