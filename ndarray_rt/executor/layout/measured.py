"""Layout plans from measured times, if all times that they need are known. Measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ...op.layout_cost import reorder_cost
from ...symbol.node import Entry, Node
from ..program.bound_graph import Facts
from ..tiles.batch import Tiling, choose_tiling, in_one_tile, may_tile
from ..tuning.file import TABLE
from ..tuning.table import Machine, Reorders, Shape, graph_key, node_key, this_machine
from .choose import LAYOUTS, Costs, convolutions, plan_layouts
from .kernels import cheapest_kernels, kernel_nodes


def measured_plan(heads: Sequence[Entry], nodes: Sequence[Node], facts: Facts,
                  ) -> tuple[dict[Node, str], Tiling | None] | None:
    """Layouts and kernels of nodes, and tiles, if the graph, or each of its convolutions, was
    measured; else None.

    `nodes` are all nodes of the graph, each after its inputs.
    """
    if TABLE.is_empty:
        return None
    machine = this_machine()
    chosen = convolutions(nodes, facts.shapes, facts.types)
    products = kernel_nodes(nodes, facts.types)
    if not chosen and not products:
        return None
    found = TABLE.graph(graph_key(machine, nodes, facts.shapes, facts.types))
    if (found is not None and len(found.layouts) == len(chosen)
            and len(found.kernels) in (0, len(products))):
        TABLE.count(hit=True)
        tiling = None if found.tiling is None or not may_tile() else Tiling(*found.tiling)
        kernels = {node: kernel for node, kernel in zip(products, found.kernels, strict=False)
                   if kernel}
        return {**dict(zip(chosen, found.layouts, strict=True)), **kernels}, tiling
    kernels = cheapest_kernels(machine, products, facts)
    if not chosen:
        TABLE.count(hit=bool(kernels))
        return (kernels, choose_tiling(heads, facts)) if kernels else None
    tiling = choose_tiling(heads, facts)
    shapes, types, _ = in_one_tile(heads, facts, tiling)
    known = measured_costs(machine, Facts(shapes, types))
    is_known = all(known(node, (), ()) is not None for node in chosen)
    TABLE.count(hit=is_known)
    if not is_known:
        return None
    return {**cheapest_layouts(machine, heads, nodes, facts, tiling), **kernels}, tiling


def cheapest_layouts(machine: Machine, heads: Sequence[Entry], nodes: Sequence[Node],
                     facts: Facts, tiling: Tiling | None) -> dict[Node, str]:
    """The cheapest plan by measured times; the model is used for nodes without any."""
    shapes, types, runs = in_one_tile(heads, facts, tiling)
    return plan_layouts(nodes, shapes, types, runs, measured_costs(machine, Facts(shapes, types)),
                        reorder_costs(TABLE.reorders(machine)))


def measured_costs(machine: Machine, facts: Facts) -> Costs:
    """The measured costs of nodes, from the table."""
    def known(node: Node, _data: Shape, _out: Shape) -> tuple[float, float] | None:
        times = TABLE.node(node_key(machine, node, facts.shapes, facts.types))
        if times is None or any(layout not in times for layout in LAYOUTS):
            return None
        last, blocked = (times[layout] for layout in LAYOUTS)
        return last, blocked
    return known


def reorder_costs(measured: Reorders | None) -> Callable[[Shape], float]:
    """Milliseconds of a change of layout by shape, interpolated from the two measured sizes."""
    if measured is None:
        return reorder_cost
    (small, small_time), (large, large_time) = measured
    rate = max(0.0, large_time - small_time) / (large - small)

    def cost(shape: Shape) -> float:
        nbytes = 4.0 * prod(shape)
        if nbytes <= small:
            return small_time * nbytes / small
        return small_time + (nbytes - small) * rate
    return cost
