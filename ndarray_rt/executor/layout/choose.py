"""The layout plan: which layout each node of an inference graph computes in.

Convolutions are fast in channels-last or in blocked layouts, depending on their window and size;
their results pass through other operators in the same layout, and changing it costs a reorder. The
cheapest assignment for all nodes together is a minimum cut. oneDNN's own choice ("any") considers
one primitive at a time, without the reorders around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

from ...dtypes import DType, in_float32
from ...op.choose import BLOCKED, CHANNELS_LAST, VECTOR, prefers_channels_last
from ...op.layout_cost import reorder_cost
from ...symbol.node import Entry, Node
from ..program.plan import Plan
from .min_cut import cheapest_labels

LAYOUTS = (CHANNELS_LAST, BLOCKED)
# (node, shape of its data, shape of its output) -> milliseconds in each layout, None if unknown
Costs = Callable[[Node, tuple[int, ...], tuple[int, ...]], tuple[float, float] | None]


def plan_layouts(nodes: Sequence[Node], shapes: Mapping[Entry, tuple[int, ...]],
                 types: Mapping[Entry, DType], runs: Mapping[Node, int],
                 known: Costs | None = None,
                 reorder: Callable[[tuple[int, ...]], float] = reorder_cost) -> dict[Node, str]:
    """The layout of each node that has a choice of layouts; empty if no node has.

    `known` returns measured costs, of convolutions and of the nodes that keep their layout; the
    model is used for convolutions without any. The model alone is too coarse to justify reorders
    within a graph: without `known` all nodes are channels-last, except first layers that are so
    much faster blocked that a reorder after them pays. Below AVX-512 only operators that need
    channels-last get it; the others are left to oneDNN. `reorder` is the cost of a change of
    layout for a tensor of some shape. `runs` says how often a node runs, if more than once.
    """
    movable: list[Node] = []
    reached: set[Node] = set()
    for node in nodes:
        # data that no convolution comes before has the user's layout
        if _can_move(node, shapes, types) and (
                _has_choice(node) or node.inputs[0].node in reached):
            movable.append(node)
            reached.add(node)
    chosen = [node for node in movable if _has_choice(node)]
    if not chosen or not (known or prefers_channels_last()
                          or any(_needs_last(node, shapes) for node in chosen)):
        return {}
    place = {node: i for i, node in enumerate(movable)}
    costs: list[tuple[float, float]] = []
    apart: dict[tuple[int, int], float] = {}
    for i, node in enumerate(movable):
        times = runs.get(node, 1)
        last, blocked = _costs_of(node, shapes, known)
        costs.append((times * last, times * blocked))
        for position, entry in enumerate(node.inputs):
            before = place.get(entry.node)
            if before is None:
                continue
            # the other nodes compute in the layout of their data
            tied = position == 0 and not _has_choice(node)
            cost = inf if tied else times * reorder(shapes[entry])
            apart[before, i] = apart.get((before, i), 0.0) + cost
    labels = cheapest_labels(costs, apart)
    return {node: LAYOUTS[labels[place[node]]] for node in chosen}


def note_layouts(plan: Plan, variants: Mapping[Node, str]) -> None:
    """Stores each step's variant, and in its outputs how far blocked layouts pad them."""
    for step in plan.steps:
        step.variant = variants.get(step.node, "")
        out = plan.values[step.outs[0]]
        follows = not step.variant and step.ins and plan.values[step.ins[0]].padded is not None
        if (step.variant == BLOCKED or follows) and len(out.shape) in (3, 4, 5):
            batch, channels, *window = out.shape
            out.padded = (batch, -(-channels // VECTOR) * VECTOR, *window)


def convolutions(nodes: Sequence[Node], shapes: Mapping[Entry, tuple[int, ...]],
                 types: Mapping[Entry, DType]) -> list[Node]:
    """The nodes whose layout is to be chosen."""
    return [node for node in nodes if _has_choice(node) and _can_move(node, shapes, types)]


def _has_choice(node: Node) -> bool:
    return node.op is not None and node.op.layout_cost is not None


def _needs_last(node: Node, shapes: Mapping[Entry, tuple[int, ...]]) -> bool:
    assert node.op is not None
    assert node.op.layout_cost is not None
    return node.op.layout_cost(node.params, shapes[node.inputs[0]],
                               shapes[Entry(node, 0)]).needs_last


def _can_move(node: Node, shapes: Mapping[Entry, tuple[int, ...]],
              types: Mapping[Entry, DType]) -> bool:
    return (node.op is not None and bool(node.inputs)
            and len(shapes[node.inputs[0]]) in (3, 4, 5) and in_float32(types[node.inputs[0]]))


def _costs_of(node: Node, shapes: Mapping[Entry, tuple[int, ...]],
              known: Costs | None) -> tuple[float, float]:
    data, out = shapes[node.inputs[0]], shapes[Entry(node, 0)]
    found = known(node, data, out) if known is not None else None
    if found is not None:
        return found
    if node.op is None or node.op.layout_cost is None:
        return 0.0, 0.0
    cost = node.op.layout_cost(node.params, data, out)
    return cost.last, inf if known is None and not cost.fills_blocks else cost.blocked
