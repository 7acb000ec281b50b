"""Whose kernels compute products and recurrent layers, where there are ours and oneDNN's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dtypes import DType, in_float32
from ...op.choose import KERNELS
from ...op.select import Selection
from ...symbol.node import Entry, Node
from ..program.bound_graph import Facts
from ..tuning.file import TABLE
from ..tuning.table import Machine, node_key


def kernel_nodes(nodes: Sequence[Node], types: Mapping[Entry, DType]) -> list[Node]:
    """The nodes that kernels of ours may compute; a plan without a word on them leaves it to a rule
    of their operators."""
    return [node for node in nodes if node.op is not None and node.op.layout_cost is None
            and isinstance(node.op.compute_ex, Selection) and node.op.compute_ex.has_libraries
            and in_float32(types[node.inputs[0]])]


def cheapest_kernels(machine: Machine, nodes: Sequence[Node], facts: Facts) -> dict[Node, str]:
    """Of those of `nodes` that both kernels were measured of, the faster one."""
    found = {}
    for node in nodes:
        times = TABLE.node(node_key(machine, node, facts.shapes, facts.types))
        if times is not None and all(kernel in times for kernel in KERNELS):
            found[node] = min(KERNELS, key=times.__getitem__)
    return found
