"""The inference graph: what the passes make of a symbol, planned. Allocates no array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import config
from ..ndarray.ndarray import NDArray
from ..op.registry import find
from ..passes import Optimized, optimize
from ..symbol.infer import infer_graph_shapes, infer_graph_types
from ..symbol.node import Entry, Node, topological
from .build import complete_shapes
from .layout_plan import note_layouts, plan_layouts
from .plan import Plan, make_plan
from .plan_memory import plan_memory

FOLDING = ("_fold_batch_norm",)


@dataclass
class InferenceGraph:
    """A plan, the entries that live in given arrays, and how the passes came to it."""

    plan: Plan
    given: dict[Entry, NDArray]
    optimized: Optimized


def build_inference(heads: Sequence[Entry], bound: Mapping[str, NDArray],
                    outputs: Sequence[NDArray]) -> InferenceGraph | None:
    """The planned graph for inference over arrays by name, or None where the passes change nothing.

    `outputs` are the arrays of the heads.
    """
    shapes = {name: array.shape for name, array in bound.items()}
    types = {name: array.dtype for name, array in bound.items()}
    optimized = optimize(heads, shapes, types)
    if optimized.heads == list(heads):
        return None
    made: dict[Entry, NDArray] = {}
    for entry, array in zip(optimized.heads, outputs, strict=True):
        if made.setdefault(entry, array) is not array or entry.node.is_variable:
            return None  # outputs must not become one memory, nor a user's array
    nodes = topological(optimized.heads)
    variables = {Entry(node, 0): node.name for node in nodes if node.is_variable}
    known = complete_shapes(infer_graph_shapes(optimized.heads, shapes))
    dtypes = {e: t for e, t in infer_graph_types(optimized.heads, types).items() if t is not None}
    plan = make_plan(nodes, [], optimized.heads, variables, {}, known, dtypes,
                     _prologue(nodes, set(optimized.heads)))
    note_layouts(plan, plan_layouts(nodes, known, dtypes))
    plan_memory(plan, share=config.NDRT_PLAN_MEMORY)
    made.update({entry: bound[name] for entry, name in variables.items()})
    return InferenceGraph(plan, made, optimized)


def _prologue(nodes: Sequence[Node], heads: set[Entry]) -> set[Node]:
    """The nodes that fold parameters: they need variables and one another alone."""
    folding = {find(name) for name in FOLDING}
    found: set[Node] = set()
    for node in nodes:
        if node.op in folding and not heads & set(node.outputs) and all(
                entry.node.is_variable or entry.node in found for entry in node.inputs):
            found.add(node)
    return found
