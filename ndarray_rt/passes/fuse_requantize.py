"""Lets layers on 8-bit numbers bring their int32 sums to 8 bits themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, rewrite

REQUANTIZE, ACTIVATION = "_contrib_requantize", "_contrib_quantized_act"
FUSED = {f"_contrib_quantized_{name}": f"_fused_quantized_{name}"
         for name in ("conv", "fully_connected", "elemwise_add")}


def fuse_requantize(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Sums that only a requantization by a calibrated range reads are never in memory, and relu
    that alone reads that is done on the way."""
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        name = "" if node.op is None else node.op.name
        before, params = inputs[0].node if inputs else None, _params(node)
        if before is None or before.op is None or not _reads_all(node, facts):
            return None
        if name == REQUANTIZE and before.op.name in FUSED and params.calibrated is not None:
            own = _params(before)
            if before.op.name.endswith("elemwise_add") and own.calibrated is not None:
                return None
            attrs = {**own.to_attrs(), **params.to_attrs()}
            return make(FUSED[before.op.name], attrs, before.inputs, node.name).outputs
        if name == ACTIVATION and before.op.name in FUSED.values() and not _params(before).rectify:
            attrs = {**_params(before).to_attrs(), "rectify": True}
            return make(before.op.name, attrs, before.inputs, node.name).outputs
        return None
    return rewrite(heads, change)


def _params(node: Node) -> Any:
    return node.params


def _reads_all(node: Node, facts: Facts) -> bool:
    """The node reads numbers and their range, all of one node that nobody else reads."""
    before = node.inputs[0].node
    entries = before.outputs
    return list(node.inputs) == list(entries) and all(
        facts.readers(entry) == [node] and not facts.is_head(entry) for entry in entries)
