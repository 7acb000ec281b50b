"""The layout plan: which family of layouts each node of an inference graph computes in.

Convolutions are fast in channels-last or in blocked layouts, depending on their window and size;
what they hand on goes through other operators as it is, and changing it costs a reorder. The
cheapest choice for all nodes together is a minimum cut. oneDNN's own choice ("any") is made for one
primitive at a time and pays for reorders that it does not see.
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

FAMILIES = (CHANNELS_LAST, BLOCKED)
# (node, shape of its data, shape of its output) -> milliseconds in each family, or None: not known
Costs = Callable[[Node, tuple[int, ...], tuple[int, ...]], tuple[float, float] | None]


def plan_layouts(nodes: Sequence[Node], shapes: Mapping[Entry, tuple[int, ...]],
                 types: Mapping[Entry, DType], runs: Mapping[Node, int],
                 known: Costs | None = None,
                 reorder: Callable[[tuple[int, ...]], float] = reorder_cost) -> dict[Node, str]:
    """The family of each node that has a choice of layouts; empty where the graph leaves none.

    `known` gives measured costs, of convolutions and of what follows them in their layout; the
    model stands in where it has none of a convolution. The model alone is too coarse to pay for
    reorders within a graph: without `known` all nodes are channels-last, but for first layers
    whose blocks pay for a reorder of what follows them; and below AVX-512 they are so only where
    an operator needs it, and else left to oneDNN. `reorder` is what it costs to change the
    layout of a tensor of some shape. `runs` tells how often a node runs, where that is more than
    once.
    """
    movable: list[Node] = []
    reached: set[Node] = set()
    for node in nodes:
        # what no convolution comes before has the user's layout
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
            # the others compute in the layout that their data has
            tied = position == 0 and not _has_choice(node)
            cost = inf if tied else times * reorder(shapes[entry])
            apart[before, i] = apart.get((before, i), 0.0) + cost
    labels = cheapest_labels(costs, apart)
    return {node: FAMILIES[labels[place[node]]] for node in chosen}


def note_layouts(plan: Plan, families: Mapping[Node, str]) -> None:
    """Tells the steps their family, and their values how far blocked layouts pad them."""
    for step in plan.steps:
        step.family = families.get(step.node, "")
        out = plan.values[step.outs[0]]
        follows = not step.family and step.ins and plan.values[step.ins[0]].padded is not None
        if (step.family == BLOCKED or follows) and len(out.shape) in (3, 4, 5):
            batch, channels, *window = out.shape
            out.padded = (batch, -(-channels // VECTOR) * VECTOR, *window)


def convolutions(nodes: Sequence[Node], shapes: Mapping[Entry, tuple[int, ...]],
                 types: Mapping[Entry, DType]) -> list[Node]:
    """The nodes whose family is to be chosen."""
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
