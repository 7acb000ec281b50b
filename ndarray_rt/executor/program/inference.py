"""The inference graph: the result of the passes for a symbol, planned. Allocates no array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ... import config
from ..._array.ndarray import NDArray
from ...collector import resting_collector
from ...dtypes import DType
from ...errors import MXNetError
from ...passes import Optimized, optimize, prologue_nodes
from ...passes.rewrite import Facts as RewriteFacts
from ...precision import Precision
from ...symbol.node import Entry, Node, topological
from ..layout.choose import note_layouts, plan_layouts
from ..layout.measured import measured_plan
from ..memory.lifetimes import plan_memory
from ..tiles.batch import Tiling, choose_tiling, in_one_tile, tile_batches
from ..tiles.lanes import note_lanes
from .bound_graph import Facts, all_known, infer_facts
from .plan import Kind, Plan, make_plan, reshaped_plan
from .program import Program
from .prologue import Prologue


@dataclass
class InferenceGraph:
    """A plan, the entries that live in given arrays, and the passes' stages.

    `facts` are those of the optimized graph, `bound_facts` those of the graph as it was bound;
    `variants` are the layouts and `tiling` the tiles of the plan, `bound` the arrays of variables.
    """

    plan: Plan
    given: dict[Entry, NDArray]
    optimized: Optimized
    types: dict[str, DType]
    facts: Facts
    bound_facts: Facts
    variants: dict[Node, str]
    tiling: Tiling | None
    bound: Mapping[str, NDArray]


@resting_collector()
def build_inference(heads: Sequence[Entry], bound: Mapping[str, NDArray],
                    outputs: Sequence[NDArray], facts: Facts,
                    like: InferenceGraph | None = None,
                    precision: Precision = Precision.FLOAT32) -> InferenceGraph | None:
    """The planned graph for inference over arrays by name, or None if no pass may run.

    `outputs` are the arrays of the heads, `facts` those of the graph as it was bound. `like` is
    the graph of the same heads for other shapes, in the same precision: if it is valid for these
    too, no pass runs again, and its layouts are used unless better ones were measured.
    """
    if any(node.is_in_numpy for node in topological(heads)):
        return None  # a pass would replace it by something that runs natively
    shapes = {name: array.shape for name, array in bound.items()}
    types = {name: array.dtype for name, array in bound.items()}
    optimized, known = None, None
    if like is not None and like.types == types:
        known = _still_right(like, facts, shapes, types)
    if like is not None and known is not None:
        optimized = like.optimized
    else:
        optimized = optimize(heads, shapes, types,
                             known=RewriteFacts(facts.shapes, facts.types, list(heads)),
                             precision=precision)
        if not optimized.stages:
            return None
        known = Facts(all_known(optimized.facts.shapes), dict(optimized.facts.types))
    arrays: dict[Entry, NDArray] = {}
    for entry, array in zip(optimized.heads, outputs, strict=True):
        if arrays.setdefault(entry, array) is not array or entry.node.is_variable:
            return None  # two outputs must not share memory, nor an output a user's array
    nodes = topological(optimized.heads)
    variants, tiling = _choose(nodes, known, optimized, like)
    if (like is not None and optimized is like.optimized
            and like.tiling is None and tiling is None):
        made = _plan_again(like, known, variants, bound)
    else:
        made = plan_inference(optimized.heads, known, variants, tiling, bound)
    made.given.update(zip(made.heads, outputs, strict=True))
    return InferenceGraph(made.plan, made.given, optimized, types, known, facts, variants,
                          tiling, bound)


def _choose(nodes: Sequence[Node], facts: Facts, optimized: Optimized,
            like: InferenceGraph | None) -> tuple[dict[Node, str], Tiling | None]:
    """Layouts and tiles: the measured ones, else the layouts of `like`, else those of the
    models."""
    found = measured_plan(optimized.heads, nodes, facts)
    if found is not None:
        return found
    tiling = choose_tiling(optimized.heads, facts)
    if like is not None and optimized is like.optimized:
        return like.variants, tiling  # weights are packed in these layouts already
    return plan_layouts(nodes, *in_one_tile(optimized.heads, facts, tiling)), tiling


class Planned(NamedTuple):
    """A plan, the arrays of its variables, and its graph: the given one, in tiles."""

    plan: Plan
    given: dict[Entry, NDArray]
    heads: list[Entry]
    facts: Facts


def plan_inference(heads: Sequence[Entry], facts: Facts, variants: Mapping[Node, str],
                   tiling: Tiling | None, bound: Mapping[str, NDArray]) -> Planned:
    """The plan of an optimized graph with the given layouts and tiles, over the arrays of its
    variables by name."""
    tiled = tile_batches(heads, facts, tiling)
    nodes = topological(tiled.heads)
    variables = {Entry(node, 0): node.name for node in nodes if node.is_variable}
    plan = make_plan(nodes, [], tiled.heads, variables, {}, tiled.facts.shapes, tiled.facts.types,
                     _prologue(tiled.heads))
    note_layouts(plan, {**variants, **{new: variants[old] for new, old in tiled.made_of.items()
                                       if old in variants}})
    for step in plan.steps:
        if step.node in tiled.tile_of:
            step.tile_of = tiled.made_of[step.node]
    note_lanes(plan, [tiled.tile_of.get(step.node, -1) for step in plan.steps])
    plan_memory(plan, share=config.NDRT_PLAN_MEMORY)
    given = {}
    for entry, name in variables.items():
        if entry in tiled.parts:
            whole, begin, end = tiled.parts[entry]
            given[entry] = bound[whole.node.name]._rows(begin, end)
        else:
            given[entry] = bound[name]
    return Planned(plan, given, tiled.heads, tiled.facts)


def _plan_again(like: InferenceGraph, facts: Facts, variants: Mapping[Node, str],
                bound: Mapping[str, NDArray]) -> Planned:
    """`plan_inference` for other shapes, if neither graph has tiles."""
    plan = reshaped_plan(like.plan, facts.shapes)
    note_layouts(plan, variants)
    plan_memory(plan, share=config.NDRT_PLAN_MEMORY, like=like.plan)
    given = {v.entry: bound[v.entry.node.name] for v in plan.values if v.kind is Kind.EXTERNAL}
    return Planned(plan, given, list(like.optimized.heads), facts)


def shared_prologue(graph: InferenceGraph, like: InferenceGraph, program: Program,
                    ) -> Prologue | None:
    """The prologue of `program`, which runs `like`, if `graph` has the same one over the same
    parameters; then its constants are given to `graph`."""
    if like.optimized is not graph.optimized or any(
            graph.given.get(entry) is not like.given[entry] for entry in program.folded_from()):
        return None
    graph.given.update(program.constants())
    return program.prologue


def _still_right(like: InferenceGraph, facts: Facts, shapes: Mapping[str, tuple[int, ...]],
                 types: Mapping[str, DType]) -> Facts | None:
    """Facts of the optimized graph for other input shapes, or None if the passes must run again.

    It is still valid if each of its nodes has the shape of the node of the same name in the graph
    as it was bound; along axes where a pass made the two differ, as moved strides do, neither may
    change. A node that only the passes know must grow as its inputs do. The check is needed as
    passes rely on shapes when they drop an operator that moves no value, or fuse operators whose
    shapes broadcast.
    """
    bound = _shapes_by_name(facts)
    if bound is None:
        return None
    try:
        found = infer_facts(like.optimized.heads, shapes, types, like.facts)
    except MXNetError:
        return None
    bound_then: dict[str, tuple[int, ...]] | None = None
    folded = {step.node for step in like.plan.steps[:like.plan.num_prologue]}

    def is_right(entry: Entry, shape: tuple[int, ...]) -> bool:
        nonlocal bound_then
        wanted = bound.get(entry.node.name)
        if entry.index != 0 or entry.node in folded or wanted == shape:
            return True
        then = like.facts.shapes[entry]
        if wanted is not None:
            if bound_then is None:
                bound_then = _shapes_by_name(like.bound_facts) or {}
            return _alike(shape, wanted, then, bound_then.get(entry.node.name, ()))
        return any(_alike(then, shape, like.facts.shapes[read], found.shapes[read])
                   for read in entry.node.inputs)
    right = all(is_right(entry, shape) for entry, shape in found.shapes.items())
    return found if right else None


def _alike(a: tuple[int, ...], b: tuple[int, ...], a_then: tuple[int, ...],
           b_then: tuple[int, ...]) -> bool:
    """`a` and `b` are equal, except along axes where each equals its counterpart `_then`."""
    return len({len(a), len(b), len(a_then), len(b_then)}) == 1 and all(
        m == n or (m, n) == (k, j) for m, n, k, j in zip(a, b, a_then, b_then, strict=True))


def _shapes_by_name(facts: Facts) -> dict[str, tuple[int, ...]] | None:
    """The shape of each node's first output, by name; None if two nodes of one name differ."""
    made: dict[str, tuple[int, ...]] = {}
    for entry, shape in facts.shapes.items():
        if entry.index == 0 and made.setdefault(entry.node.name, shape) != shape:
            return None
    return made


def _prologue(heads: Sequence[Entry]) -> set[Node]:
    """Nodes computed from parameters alone and kept, without outputs and what outputs need."""
    outputs = {entry.node for entry in heads}
    found: set[Node] = set()
    for node in prologue_nodes(heads):
        if node not in outputs and all(
                entry.node.is_variable or entry.node in found for entry in node.inputs):
            found.add(node)
    return found
