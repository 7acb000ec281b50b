"""From a symbol and requests to a planned graph. Allocates no array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import config
from ..dtypes import DType
from ..errors import MXNetError, ShapeError
from ..ndarray.req import Req
from ..op.registry import find
from ..symbol.gradient import gradient_graph
from ..symbol.infer import infer_graph_shapes, infer_graph_types
from ..symbol.node import Entry, Node, topological
from .plan import Plan, make_plan
from .plan_memory import plan_memory

HEAD_GRAD = "__head_grad_{}"


@dataclass
class BoundGraph:
    """A planned graph, and which of its entries are what to the user."""

    plan: Plan
    variables: dict[str, Entry]
    grads: dict[str, Entry]  # argument -> the entry written into its gradient array
    zero_grads: list[str]  # arguments that the outputs do not depend on
    head_grads: dict[int, Entry]  # position of an output -> the variable of its gradient


def build_graph(heads: Sequence[Entry], requests: Mapping[str, Req],
                shapes: Mapping[str, tuple[int, ...]],
                types: Mapping[str, DType]) -> BoundGraph:
    """Adds the gradient graph, infers all shapes and dtypes, and plans memory.

    `shapes` and `types` are those of all arguments and aux states. `requests` name the arguments
    whose gradients are wanted.
    """
    forward = topological(heads)
    variables = {node.name: Entry(node, 0) for node in forward if node.is_variable}
    wanted = [name for name, req in requests.items() if req != Req.kNullOp]
    head_vars = [Entry(Node(None, HEAD_GRAD.format(i)), 0) for i in range(len(heads))]
    grads: dict[str, Entry] = {}
    zero: list[str] = []
    if wanted:
        found = gradient_graph(heads, head_vars, [variables[name] for name in wanted])
        taken: set[Entry] = set()
        for name, entry in zip(wanted, found, strict=True):
            if entry is None:
                zero.append(name)
                continue
            if entry.node.is_variable or entry in taken or entry.node in set(forward):
                entry = _copy_of(entry, name)
            taken.add(entry)
            grads[name] = entry
        grads = _copies_where_read(grads, requests)
    everything = [*heads, *grads.values()]
    backward = [node for node in topological(everything) if node not in set(forward)]
    all_shapes = infer_graph_shapes(heads, shapes)
    known = dict(shapes)
    for var, head in zip(head_vars, heads, strict=True):
        shape = all_shapes[head]
        if shape is None:
            raise ShapeError(f"the shape of output {head!r} can not be inferred")
        known[var.node.name] = shape
    all_types = infer_graph_types(heads, types)
    known_types = dict(types)
    for var, head in zip(head_vars, heads, strict=True):
        dtype = all_types[head]
        if dtype is not None:
            known_types[var.node.name] = dtype
    full_shapes = infer_graph_shapes(everything, known)
    full_types = infer_graph_types(everything, known_types)
    external = {entry: name for name, entry in variables.items()}
    external.update({var: var.node.name for var in head_vars})
    external.update({entry: f"grad of {name}" for name, entry in grads.items()})
    plan = make_plan(forward, [n for n in backward if not n.is_variable], heads, external,
                     {entry: requests[name] for name, entry in grads.items()},
                     complete_shapes(full_shapes),
                     {e: t for e, t in full_types.items() if t is not None})
    plan_memory(plan, share=config.NDRT_PLAN_MEMORY)
    used = {entry for node in backward for entry in node.inputs}
    return BoundGraph(plan, variables, grads, zero,
                      {i: var for i, var in enumerate(head_vars) if var in used})


def complete_shapes(shapes: Mapping[Entry, tuple[int, ...] | None],
                    ) -> dict[Entry, tuple[int, ...]]:
    """The shapes; MXNetError where one is not known."""
    made: dict[Entry, tuple[int, ...]] = {}
    for entry, shape in shapes.items():
        if shape is None or -1 in shape:
            raise MXNetError(f"the shape of {entry!r} can not be inferred: got {shape}")
        made[entry] = shape
    return made


def _copy_of(entry: Entry, name: str) -> Entry:
    op = find("_copy")
    return Entry(Node(op, f"{name}_grad_copy", {}, op.params(), [entry]), 0)


def _copies_where_read(grads: dict[str, Entry], requests: Mapping[str, Req]) -> dict[str, Entry]:
    """Gradients that other nodes read too are copied out: an array added to holds another value."""
    read = {entry for node in topological(grads.values()) for entry in node.inputs}
    return {name: _copy_of(entry, name) if entry in read and requests[name] == Req.kAddTo else entry
            for name, entry in grads.items()}
