"""Folds batch normalisation into the layer before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import FLOAT32
from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, rewrite

LAYERS = frozenset({"Convolution", "Deconvolution", "FullyConnected"})


def fold_batch_norms(heads: Sequence[Entry], facts: Facts) -> Heads:
    """A layer read by a BatchNorm alone gets weights and bias that do both (in float32)."""
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None or node.op.name != "BatchNorm":
            return None
        layer = inputs[0].node
        if (layer.op is None or layer.op.name not in LAYERS or layer.params is None
                or not _may_fold(node, layer, facts)):
            return None
        return [_folded(node, inputs, layer)] * node.num_outputs
    return rewrite(heads, change)


def _may_fold(node: Node, layer: Node, facts: Facts) -> bool:
    params: Any = node.params
    source = node.inputs[0]
    if any(facts.uses[entry] for entry in node.outputs[1:]) or params.output_mean_var:
        return False
    shape = facts.shapes[source]
    return (facts.used_once(source) and facts.types[source] == FLOAT32
            and params.axis % len(shape) == 1
            and (layer.op is None or layer.op.name != "FullyConnected" or len(shape) == 2))


def _folded(node: Node, inputs: list[Entry], layer: Node) -> Entry:
    norm: Any = node.params
    params: Any = layer.params
    assert layer.op is not None
    transposed = layer.op.name == "Deconvolution"
    facts = {"eps": norm.eps, "fix_gamma": norm.fix_gamma, "no_bias": params.no_bias,
             "transposed": transposed, "num_group": params.num_group if transposed else 1}
    fold = make("_fold_batch_norm", facts, [*layer.inputs[1:], *inputs[1:]],
                f"{node.name}_folded")
    attrs = {**params.to_attrs(), "no_bias": "False"}
    return Entry(make(layer.op.name, attrs, [layer.inputs[0], *fold.outputs], node.name), 0)
