"""Chooses between native kernels and oneDNN's for dense layers, matrix products and RNNs."""

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
    """The nodes that native kernels can compute; if the plan does not choose for one, its
    operator's rule does."""
    return [node for node in nodes if node.op is not None and node.op.layout_cost is None
            and isinstance(node.op.compute_ex, Selection) and node.op.compute_ex.has_libraries
            and in_float32(types[node.inputs[0]])]


def cheapest_kernels(machine: Machine, nodes: Sequence[Node], facts: Facts) -> dict[Node, str]:
    """For those of `nodes` for which both kernels were measured, the faster one."""
    found = {}
    for node in nodes:
        times = TABLE.node(node_key(machine, node, facts.shapes, facts.types))
        if times is not None and all(kernel in times for kernel in KERNELS):
            found[node] = min(KERNELS, key=times.__getitem__)
    return found
