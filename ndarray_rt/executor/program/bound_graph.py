"""From a symbol and requests to a planned graph. Allocates no array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ... import config
from ..._array.req import Req
from ...collector import resting_collector
from ...dtypes import DType
from ...errors import ShapeError
from ...op.registry import Shape, find
from ...symbol.gradient import gradient_graph
from ...symbol.infer import infer_graph_shapes, infer_graph_types
from ...symbol.node import Entry, Node, topological
from ..memory.lifetimes import plan_memory
from .plan import Plan, make_plan

HEAD_GRAD = "__head_grad_{}"


@dataclass
class BoundGraph:
    """A planned graph, and the entries that correspond to the user's arrays."""

    plan: Plan
    variables: dict[str, Entry]
    grads: dict[str, Entry]  # argument -> the entry stored in its gradient array
    zero_grads: list[str]  # arguments that the outputs do not depend on
    head_grads: dict[int, Entry]  # position of an output -> the variable of its gradient


@dataclass(frozen=True)
class Facts:
    """Shape and dtype of each entry of a graph."""

    shapes: dict[Entry, tuple[int, ...]]
    types: dict[Entry, DType]


def infer_shapes(heads: Sequence[Entry], shapes: Mapping[str, tuple[int, ...]],
                 ) -> dict[Entry, tuple[int, ...]]:
    """The shape of each entry; ShapeError if one does not follow from those of the variables."""
    return all_known(infer_graph_shapes(heads, shapes))


def all_known(table: Mapping[Entry, Shape | None]) -> dict[Entry, tuple[int, ...]]:
    """The shapes as they are; ShapeError where one is not known."""
    made: dict[Entry, tuple[int, ...]] = {}
    for entry, shape in table.items():
        if shape is None or -1 in shape:
            raise ShapeError(f"the shape of {entry!r} can not be inferred: got {shape}")
        made[entry] = shape
    return made


def infer_facts(heads: Sequence[Entry], shapes: Mapping[str, tuple[int, ...]],
                types: Mapping[str, DType], like: Facts | None = None) -> Facts:
    """Shapes and dtypes from those of all variables by name; MXNetError if one does not follow.

    `like` are the facts of the same heads for other shapes: if the variables have the same dtypes,
    so do all other entries.
    """
    return add_types(heads, infer_shapes(heads, shapes), types, like)


def add_types(heads: Sequence[Entry], made: dict[Entry, tuple[int, ...]],
              types: Mapping[str, DType], like: Facts | None = None) -> Facts:
    """`infer_facts` with shapes that are inferred already."""
    if like is not None and made.keys() == like.types.keys() and all(
            like.types[entry] == types[entry.node.name] for entry in made
            if entry.node.is_variable):
        return Facts(made, like.types)
    found = infer_graph_types(heads, types)
    return Facts(made, {entry: dtype for entry, dtype in found.items() if dtype is not None})


@resting_collector()
def build_graph(heads: Sequence[Entry], requests: Mapping[str, Req],
                facts: Facts) -> BoundGraph:
    """Adds the gradient graph, infers its shapes and dtypes, and plans memory.

    `facts` are those of the graph of `heads`. `requests` name the arguments whose gradients are
    computed.
    """
    forward = topological(heads)
    inside = set(forward)
    variables = {node.name: Entry(node, 0) for node in forward if node.is_variable}
    wanted = [name for name, req in requests.items() if req != Req.kNullOp]
    head_vars = [Entry(Node(None, HEAD_GRAD.format(i)), 0) for i in range(len(heads))]
    grads: dict[str, Entry] = {}
    zero: list[str] = []
    made: list[tuple[Node, list[tuple[int, Entry | None]]]] = []
    if wanted:
        found = gradient_graph(heads, head_vars, [variables[name] for name in wanted],
                               tell=lambda node, by_input: made.append((node, by_input)))
        taken: set[Entry] = set()
        for name, entry in zip(wanted, found, strict=True):
            if entry is None:
                zero.append(name)
                continue
            if entry.node.is_variable or entry in taken or entry.node in inside:
                entry = _copy_of(entry, name)
            taken.add(entry)
            grads[name] = entry
        grads = _copies_where_read(grads, requests)
    everything = [*heads, *grads.values()]
    backward = [node for node in topological(everything) if node not in inside]
    if grads:
        known = {name: facts.shapes[entry] for name, entry in variables.items()}
        dtypes = {name: facts.types[entry] for name, entry in variables.items()}
        for var, head in zip(head_vars, heads, strict=True):
            known[var.node.name] = facts.shapes[head]
            if head in facts.types:
                dtypes[var.node.name] = facts.types[head]
        facts = infer_facts(everything, known, dtypes)
    external = {entry: name for name, entry in variables.items()}
    external.update({var: var.node.name for var in head_vars})
    external.update({entry: f"grad of {name}" for name, entry in grads.items()})
    plan = make_plan(forward, [n for n in backward if not n.is_variable], heads, external,
                     {entry: requests[name] for name, entry in grads.items()},
                     facts.shapes, facts.types)
    plan.gradients = made
    plan_memory(plan, share=config.NDRT_PLAN_MEMORY)
    used = {entry for node in backward for entry in node.inputs}
    return BoundGraph(plan, variables, grads, zero,
                      {i: var for i, var in enumerate(head_vars) if var in used})


def _copy_of(entry: Entry, name: str) -> Entry:
    op = find("_copy")
    return Entry(Node(op, f"{name}_grad_copy", {}, op.params(), [entry]), 0)


def _copies_where_read(grads: dict[str, Entry], requests: Mapping[str, Req]) -> dict[str, Entry]:
    """Copies gradients that other nodes read too: with kAddTo the user's array has another
    value."""
    read = {entry for node in topological(grads.values()) for entry in node.inputs}
    return {name: _copy_of(entry, name) if entry in read and requests[name] == Req.kAddTo else entry
            for name, entry in grads.items()}
