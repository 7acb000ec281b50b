"""A graph as text, for people. In the form of MXNet's Symbol.debug_str."""

from __future__ import annotations

from collections.abc import Sequence

from .graph_json import mutation_counts
from .node import Entry, topological


def debug_text(heads: Sequence[Entry]) -> str:
    """Outputs, then each node with its inputs and attributes."""
    if len(heads) == 1 and heads[0].node.is_variable:
        return f"Variable:{heads[0].node.name}\n"
    order = topological(heads)
    versions = mutation_counts(order)
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={e.node.name}({e.index})" for i, e in enumerate(heads)]
    for node in order:
        if node.op is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
        for i, entry in enumerate(node.inputs):
            version = f" version={versions[node][i]}" if entry.node.is_variable else ""
            lines.append(f"\targ[{i}]={entry.node.name}({entry.index}){version}")
        if node.attrs:
            lines.append("Attrs:")
            lines += [f"\t{key}={node.attrs[key]}" for key in sorted(node.attrs)]
    return "\n".join(lines) + "\n"
