"""Fused layers on floats as the graphs inside of them, which the other passes know better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..symbol.node import Entry, Node
from ..symbol.subgraph import SubgraphParams
from .fuse_layers import CONV, DENSE, SCORES, WEIGHTED
from .rewrite import Facts, Heads, replace

LAYERS = (CONV, DENSE, SCORES, WEIGHTED)


def open_fused_layers(heads: Sequence[Entry], facts: Facts) -> Heads:
    """The graph with what fused layers on floats have inside in their places."""
    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node.op is None or node.op.name not in LAYERS or (
                getattr(node.params, "quantized", True)):
            return None
        assert isinstance(node.params, SubgraphParams)
        graph = node.params.graphs[0]
        made = {variable: now[entry]
                for variable, entry in zip(graph.variables, node.inputs, strict=True)}
        end = graph.heads[0].node
        for inner in graph.order:
            if inner not in made:
                inputs = [made[entry.node] for entry in inner.inputs]
                name = node.name if inner is end else inner.name
                made[inner] = Entry(Node(inner.op, name, dict(inner.attrs), inner.params, inputs),
                                    0)
        return [made[end]]
    return replace(heads, change)
