"""_foreach, _while_loop and _cond: operators that run graphs, and their gradients.

Graphs run node by node, like single operators. The gradient runs them again on a tape, with the
random numbers of forward.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._array.create import array, zeros
from .._array.interop import asnumpy
from .._array.layout import AnyArray
from .._array.ndarray import NDArray
from .._array.output import NumpyOutput
from .._array.req import Req
from ..errors import ShapeError
from ..op.context import OpContext
from ..op.infer import ShapeList, TypeList, merge
from ..op.params import Params, params_class
from ..op.random_state import RandomState
from ..op.registry import Emit, GradNode, OpDef, Shape, register
from ..symbol.infer import infer_graph_shapes, infer_graph_types
from ..symbol.node import Entry
from ..symbol.subgraph import CondParams, ForeachParams, Subgraph, SubgraphParams, WhileLoopParams
from .backward import backward
from .call import drawing_from
from .control_flow import is_true, joined, step_of
from .invoke import invoke_params
from .tape import STATE, entry_of, set_variable

# states of random streams that one node keeps: one per executor
SESSIONS = 64


# ---- running ------------------------------------------------------------------------------------


def run_graph(graph: Subgraph, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The outputs of a graph for these values of its variables, in order."""
    values: dict[Entry, NDArray] = {Entry(node, 0): x for node, x in
                                    zip(graph.variables, inputs, strict=True)}
    for node in graph.order:
        if node.op is None or node.params is None:
            continue
        made = invoke_params(node.op, node.params, [values[e] for e in node.inputs],
                             name=node.name)
        made = [made] if isinstance(made, NDArray) else made
        values.update(zip(node.outputs, made, strict=False))
    return [values[entry] for entry in graph.heads]


def _foreach(p: ForeachParams, ins: list[NDArray], shapes: Sequence[Shape]) -> list[NDArray]:
    n_data, n_states = len(p.in_data_locs), len(p.in_state_locs)
    data, states, rest = ins[:n_data], ins[n_data:n_data + n_states], ins[n_data + n_states:]
    place = p.places[0]
    steps: list[list[NDArray]] = []
    for i in range(len(data[0])):
        given = [*(step_of(x, i) for x in data), *states, *rest]
        made = run_graph(p.graphs[0], [given[j] for j in place])
        steps.append(made[:p.num_out_data])
        states = made[p.num_out_data:]
    return [*_join(steps, p.num_out_data, None, shapes, ins), *states]


def _while_loop(p: WhileLoopParams, ins: list[NDArray], shapes: Sequence[Shape]) -> list[NDArray]:
    cond, func = p.graphs
    values = list(ins)
    steps: list[list[NDArray]] = []
    while len(steps) < p.max_iterations:
        test = run_graph(cond, [values[i] for i in p.cond_input_locs])[0]
        if not is_true(test, "_while_loop: the condition"):
            break
        made = run_graph(func, [values[i] for i in p.func_input_locs])
        steps.append(made[:p.num_out_data])
        for i, value in zip(p.variables, made[p.num_out_data:], strict=True):
            values[i] = value
    return [*_join(steps, p.num_out_data, p.max_iterations, shapes, ins),
            *(values[i] for i in p.variables)]


def _join(steps: list[list[NDArray]], count: int, length: int | None, shapes: Sequence[Shape],
          ins: Sequence[NDArray]) -> list[NDArray]:
    if steps:
        return [joined([step[i] for step in steps], "a loop", length) for i in range(count)]
    return [zeros(shapes[i], None, ins[0].dtype) for i in range(count)]


def _cond(p: CondParams, ins: list[NDArray], shapes: Sequence[Shape]) -> list[NDArray]:
    test = run_graph(p.graphs[0], [ins[i] for i in p.cond_input_locs])[0]
    branch = 1 if is_true(test, "_cond: the condition") else 2
    return run_graph(p.graphs[branch], [ins[i] for i in p.places[branch]])


RUN: dict[type[SubgraphParams], Any] = {
    ForeachParams: _foreach, WhileLoopParams: _while_loop, CondParams: _cond}


@contextmanager
def modes(is_train: bool, recording: bool, stream: RandomState) -> Iterator[None]:
    """Whether nodes inside train and are recorded, and where their random numbers come from."""
    before = STATE.recording, STATE.training
    STATE.recording, STATE.training = recording, is_train
    try:
        with drawing_from(stream):
            yield
    finally:
        STATE.recording, STATE.training = before


def _drawn(p: SubgraphParams) -> dict[Any, Any]:
    """Where the random numbers of each executor's last forward began."""
    found: dict[Any, Any] = p.__dict__.setdefault("_drawn", {})
    return found


def _compute(ctx: OpContext, p: SubgraphParams, ins: list[AnyArray],
             outs: list[NumpyOutput]) -> None:
    arrays = [array(x, None, x.dtype) for x in ins]
    if p.draws:
        kept = _drawn(p)
        while len(kept) >= SESSIONS:
            kept.pop(next(iter(kept)))
        kept[ctx.session] = ctx.random.get_state()
    with modes(ctx.is_train, False, ctx.random):
        made = RUN[type(p)](p, arrays, [out.array.shape for out in outs])
    for out, value in zip(outs, made, strict=True):
        if out.requested:
            out.write(asnumpy(value).astype(out.array.dtype, copy=False))
    for position in p.aux:
        ins[position][...] = asnumpy(arrays[position])


# ---- gradients ----------------------------------------------------------------------------------


@params_class
class BackwardParams(Params):
    """The operator whose gradient is computed; its inputs follow the gradients of outputs."""

    forward: SubgraphParams = dataclasses.field(metadata={
        "doc": "the operator", "wants": "its parameters", "parse": lambda value: value,
        "check": None})

    def __hash__(self) -> int:
        return hash(self.forward)

    @property
    def num_outputs(self) -> int:
        return int(self.forward.num_outputs)  # type: ignore[attr-defined]

    @property
    def names(self) -> tuple[str, ...]:
        return (*(f"grad{i}" for i in range(self.num_outputs)), *self.forward.inputs)

    @property
    def mutated(self) -> tuple[int, ...]:
        return tuple(self.num_outputs + i for i in self.forward.aux)


def _compute_backward(ctx: OpContext, p: BackwardParams, ins: list[AnyArray],
                      outs: list[NumpyOutput]) -> None:
    forward = p.forward
    heads, values = ins[:p.num_outputs], ins[p.num_outputs:]
    arrays = [array(x, None, x.dtype) for x in values]
    grads: dict[int, NDArray] = {}
    for i, (x, out) in enumerate(zip(arrays, outs, strict=True)):
        if out.requested and i not in forward.aux and values[i].dtype.kind not in "iub":
            grads[i] = zeros(x.shape, None, x.dtype)
            set_variable(x, grads[i], Req.kWriteTo)
    stream = ctx.random
    if forward.draws:
        stream = RandomState()
        stream.set_state(_drawn(forward).get(ctx.session, ctx.random.get_state()))
    with modes(ctx.is_train, True, stream):
        made = RUN[type(forward)](forward, arrays, [x.shape for x in heads])
        reached = [(y, array(dy, None, y.dtype)) for y, dy in zip(made, heads, strict=True)
                   if _depends(y)]
        if reached:
            backward([y for y, _ in reached], [dy for _, dy in reached], train_mode=ctx.is_train)
    for i, out in enumerate(outs):
        if out.requested:
            out.write(asnumpy(grads[i]) if i in grads else np.zeros_like(values[i]))
    for position in forward.aux:
        values[position][...] = asnumpy(arrays[position])


def _depends(x: NDArray) -> bool:
    """Some leaf's gradient depends on this array."""
    entry = entry_of(x)
    return entry is not None and entry.node.needs_grad  # type: ignore[attr-defined]


def _gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> Sequence[Any]:
    p: SubgraphParams = node.params
    made = emit("_backward_subgraph", BackwardParams(forward=p), *out_grads, *node.inputs)
    return [None if i in p.aux else grad for i, grad in enumerate(made)]


def _backward_shape(p: BackwardParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
    return ins, [merge(a, b) for a, b in zip(outs, ins[p.num_outputs:], strict=True)]


def _backward_type(p: BackwardParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, list(ins[p.num_outputs:])


# ---- rules --------------------------------------------------------------------------------------


def shapes_inside(graph: Subgraph, place: Sequence[int], ins: ShapeList,
                  ) -> tuple[ShapeList, ShapeList]:
    """Shapes of a node's inputs and of a graph's outputs, inferred in the graph."""
    given: Mapping[str, Shape | None] = dict(zip(graph.names, [ins[i] for i in place],
                                                 strict=True))
    table = infer_graph_shapes(graph.heads, given)
    made = list(ins)
    for node, i in zip(graph.variables, place, strict=True):
        made[i] = merge(made[i], table[Entry(node, 0)], f"shapes of {node.name}")
    return made, [table[entry] for entry in graph.heads]


def _foreach_shape(p: ForeachParams, ins: ShapeList, outs: ShapeList,
                   ) -> tuple[ShapeList, ShapeList]:
    count = len(p.in_data_locs)
    length = -1
    for x in [*ins[:count], *outs[:p.num_out_data]]:
        if x is not None and not x:
            raise ShapeError("data of rank 0 have no axis to go along")
        if x is not None and x[0] != -1:
            if length not in (-1, x[0]):
                raise ShapeError(f"data and outputs have the lengths {length} and {x[0]}")
            length = x[0]
    # an element of a vector has shape (1,)
    step = [None if x is None else x[1:] or (1,) for x in ins[:count]]
    states = slice(count, count + len(p.in_state_locs))
    given = [*step, *ins[count:]]
    # a state keeps its shape
    given[states] = [merge(a, b) for a, b in zip(given[states], outs[p.num_out_data:],
                                                 strict=True)]
    made, heads = shapes_inside(p.graphs[0], p.places[0], given)
    found = [None if x is None else (length, *(x if whole is None or len(whole) > 1 else ()))
             for whole, x in zip(ins, made[:count], strict=False)]
    last = heads[p.num_out_data:]
    made[states] = [merge(a, b, "shapes of a state") for a, b in
                    zip(made[states], last, strict=True)]
    data = [None if x is None else (length, *x) for x in heads[:p.num_out_data]]
    return [*found, *made[count:]], [*data, *made[states]]


def _while_shape(p: WhileLoopParams, ins: ShapeList, outs: ShapeList,
                 ) -> tuple[ShapeList, ShapeList]:
    made, _ = shapes_inside(p.graphs[0], p.cond_input_locs, list(ins))
    made, heads = shapes_inside(p.graphs[1], p.func_input_locs, made)
    for i, shape in zip(p.variables, heads[p.num_out_data:], strict=True):
        made[i] = merge(made[i], shape, "shapes of a variable of the loop")
    data = [None if x is None else (p.max_iterations, *x) for x in heads[:p.num_out_data]]
    return made, [*data, *(made[i] for i in p.variables)]


def _cond_shape(p: CondParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    made, _ = shapes_inside(p.graphs[0], p.cond_input_locs, list(ins))
    made, then = shapes_inside(p.graphs[1], p.then_input_locs, made)
    made, other = shapes_inside(p.graphs[2], p.else_input_locs, made)
    return made, [merge(a, b, "shapes of both branches") for a, b in
                  zip(then, other, strict=True)]


def types_inside(p: SubgraphParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    """Dtypes of the inputs of a node and of its outputs, as its graphs have them."""
    made, heads = list(ins), list(outs)
    for graph, place in zip(p.graphs, p.places, strict=True):
        given = dict(zip(graph.names, [made[i] for i in place], strict=True))
        table = infer_graph_types(graph.heads, given, None)
        for node, i in zip(graph.variables, place, strict=True):
            made[i] = made[i] if made[i] is not None else table[Entry(node, 0)]
        if len(graph.heads) == len(heads) and graph is p.graphs[-1]:
            heads = [a if b is None else b for a, b in
                     zip(heads, [table[entry] for entry in graph.heads], strict=True)]
    return made, heads


def _output_names(p: Any) -> tuple[str, ...]:
    if p.num_outputs == 1:
        return ("output",)
    return tuple(f"output{i}" for i in range(p.num_outputs))


_DOC = ("{}\n\nMade by sym.contrib.{}, which says what its inputs are; shapes and dtypes follow "
        "from its graphs, whose nodes run one by one. The gradient computes the graphs again. "
        "Source: MXNet's {}.")


def _register(name: str, params: type[SubgraphParams], infer_shape: Any, what: str) -> None:
    register(OpDef(name, params, inputs=lambda p: p.inputs, outputs=_output_names, takes_any=True,
                   infer_shape=infer_shape, infer_type=types_inside, compute=_compute,
                   gradient=_gradient, mutates=lambda p: p.aux, is_random=lambda p: p.draws,
                   pure=False,
                   doc=_DOC.format(what, name[1:], name)))


_register("_foreach", ForeachParams, _foreach_shape, "A loop over axis 0 of its data.")
_register("_while_loop", WhileLoopParams, _while_shape,
          "A loop that runs as long as a condition holds.")
_register("_cond", CondParams, _cond_shape, "One of two graphs, as a condition says.")
BACKWARD = register(OpDef(
    "_backward_subgraph", BackwardParams, inputs=lambda p: p.names,
    outputs=lambda p: p.forward.inputs, infer_shape=_backward_shape, infer_type=_backward_type,
    compute=_compute_backward, mutates=lambda p: p.mutated, is_backward=True, pure=False,
    no_gradient="gradients of loops have none in MXNet either",
    doc="The gradient of an operator that runs graphs: the graphs again, on a tape."))
