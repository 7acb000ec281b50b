"""Names of nodes that users exclude from quantization."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...errors import NameMismatch, did_you_mean
from ...symbol.node import Entry, topological
from ...symbol.subgraph import SubgraphParams


def unknown_names(heads: Sequence[Entry], names: Collection[str]) -> list[str]:
    """Those of names that no node of a graph has, nor one inside of its fused layers, each with
    the names that are like it."""
    known = set()
    for node in topological(heads):
        known.add(node.name)
        for graph in node.params.graphs if isinstance(node.params, SubgraphParams) else ():
            known.update(inner.name for inner in graph.order if not inner.is_variable)
    return [f"{name!r}{did_you_mean(name, sorted(known))}" for name in names if name not in known]


def refuse_unknown(heads: Sequence[Entry], names: Collection[str], what: str) -> None:
    """NameMismatch for a name that no node has."""
    wrong = unknown_names(heads, names)
    if wrong:
        raise NameMismatch(f"{what}: there is no node {wrong[0]}")
