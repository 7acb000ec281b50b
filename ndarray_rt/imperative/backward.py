"""Gradients of the tape: its graph is differentiated like any other graph, and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..errors import MXNetError
from ..op.infer import need_like, same_shape, same_type
from ..op.params import NoParams, Params
from ..op.registry import OpDef, find
from ..symbol.gradient import gradient_graph
from ..symbol.node import Entry, Node, topological
from .backward_of_calls import note_route, plan_calls, run_calls, run_route
from .gradient_program import Form, GradNode, HeadGradient, Program
from .gradient_run import Run
from .tape import STATE, GradState, TapeNode, TapeVariable, entry_of, tape_node

NOT_RECORDED = (
    "Cannot differentiate node because it is not in a computational graph. You need to set "
    "is_recording to true or use autograd.record() to save computational graphs for backward. If "
    "you want to differentiate the same graph twice, you need to pass retain_graph=True to "
    "backward.")


# not registered, so that nobody can call it
CONSTANT = OpDef("constant", NoParams, inputs=("data",), infer_shape=same_shape,
                 infer_type=same_type, compute=lambda ctx, p, ins, outs: outs[0].write(ins[0]),
                 gradient=lambda emit, node, out_grads: [out_grads[0]])


def _make(op_name: str, params: Params, inputs: Sequence[Entry], name: str) -> Node:
    # nodes of the tape seldom have names; the operator's says more than "_backward"
    return GradNode(find(op_name), "" if name.startswith("_") else name, {}, params, inputs)


def backward(heads: Sequence[NDArray], head_grads: Sequence[NDArray | None],
             retain_graph: bool = False, train_mode: bool = True) -> None:
    """Gradients of the heads for all leaves, stored in their gradient arrays as they request."""
    is_plain = (len(heads) == 1 and head_grads[0] is None and train_mode and not retain_graph)
    if is_plain and run_route(heads[0]._entry):
        return
    entries = _head_entries(heads)
    order = _tape_order(entries)
    leaves = [node for node in order if isinstance(node, TapeVariable) and node.needs_grad]
    if not leaves:
        raise MXNetError("There are no inputs in computation graph that require gradients.")
    grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
    given = _head_grad_arrays(heads, head_grads)
    calls = plan_calls(entries[0], order, grads) if len(entries) == 1 else None
    if calls is None:
        program = _program(order, entries, given, [Entry(leaf, 0) for leaf in leaves], grads)
    recording, STATE.recording = STATE.recording, False
    try:
        if calls is None:
            Run(program, order, given, grads, train_mode).execute()
        else:
            run_calls(calls, entries[0], given[0], train_mode)
    finally:
        STATE.recording = recording
    for state in grads:
        state.fresh = True
    if is_plain and calls is not None:
        note_route(calls)
    if not retain_graph:
        _clear(order)


def grad(heads: Sequence[NDArray], variables: Sequence[NDArray],
         head_grads: Sequence[NDArray | None], retain_graph: bool = False,
         create_graph: bool = False, train_mode: bool = True) -> list[NDArray]:
    """Gradients of the heads for `variables` as new arrays; with `create_graph` on the tape."""
    entries = _head_entries(heads)
    wanted = []
    for i, variable in enumerate(variables):
        entry = entry_of(variable)
        if entry is None or not tape_node(entry).needs_grad:
            raise MXNetError(f"Cannot differentiate with respect to the {i + 1}-th variable "
                             "because it does not require gradient.")
        wanted.append(entry)
    order = _tape_order(entries)
    reached = set(order)
    for i, entry in enumerate(wanted):
        if entry.node not in reached:
            raise MXNetError(f"Cannot differentiate with respect to the {i + 1}-th variable "
                             "because it is unreachable from the outputs.")
    states = {entry.node.grad for entry in wanted if isinstance(entry.node, TapeVariable)}
    for node in order:
        if (isinstance(node, TapeVariable) and node.grad is not None and node.grad in states
                and Entry(node, 0) not in wanted):
            raise MXNetError("Cannot differentiate with respect to an array that was written to "
                             "after a part of this graph was recorded with it.")
    given = _head_grad_arrays(heads, head_grads)
    made = [GradState(new_array(x.shape, x.dtype, x.ctx), Req.kWriteTo) for x in variables]
    program = _program(order, entries, given, wanted, made, direct=not create_graph)
    run = Run(program, order, given, made, train_mode, create_graph)
    recording = STATE.recording
    STATE.recording = create_graph
    try:
        run.execute()
    finally:
        STATE.recording = recording
    if create_graph:
        leaves = [Entry(node, 0) for node in order
                  if isinstance(node, TapeVariable) and node.needs_grad]
        for state in made:
            if entry_of(state.array) is None:
                _record_constant(state.array, leaves)
    if not retain_graph:
        _clear(order)
    return [state.array for state in made]


def _record_constant(x: NDArray, leaves: Sequence[Entry]) -> None:
    """Puts an array on the tape that depends on no leaf, so that its gradients are zero."""
    node = TapeNode(CONSTANT, NoParams(), [Entry(TapeVariable(x, None), 0), *leaves], "", [x])
    x._entry = Entry(node, 0)


def _head_entries(heads: Sequence[NDArray]) -> list[Entry]:
    entries = []
    for head in heads:
        entry = entry_of(head)
        if entry is None:
            raise MXNetError(NOT_RECORDED)
        entries.append(entry)
    return entries


def _head_grad_arrays(heads: Sequence[NDArray], head_grads: Sequence[NDArray | None],
                      ) -> list[NDArray | None]:
    made: list[NDArray | None] = []
    for head, given in zip(heads, head_grads, strict=True):
        if given is None:
            made.append(None)
            continue
        if given.shape != head.shape and _begins_with(given.shape, head.shape):
            given = given[:head.shape[0]]
        need_like(given, head, "backward: the head gradient", "its head")
        made.append(given)
    return made


def _program(order: Sequence[Node], heads: Sequence[Entry], given: Sequence[NDArray | None],
             wrt: Sequence[Entry], targets: Sequence[GradState], direct: bool = True) -> Program:
    """The program that computes the gradients of the heads for `wrt`."""
    chunks = Counter(state.array._chunk for state in targets)
    apart = [chunks[state.array._chunk] == 1 for state in targets]
    reqs = [state.req for state in targets]
    is_given = [array is not None for array in given]
    form = Form(order, heads, is_given, wrt, reqs, apart, direct)
    program = form.find()
    if program is None:
        head_grads = [Entry(HeadGradient(i), 0) if there else None
                      for i, there in enumerate(is_given)]
        results = gradient_graph(heads, head_grads, wrt, _make)
        program = Program(results, order, reqs, apart, direct)
        form.keep(program)
    return program


def _begins_with(shape: tuple[int, ...], rows: tuple[int, ...]) -> bool:
    """An array of this shape has at least as many rows; MXNet's programs rely on the first ones."""
    return (len(shape) == len(rows) > 0 and shape[0] > rows[0] > 0 and shape[1:] == rows[1:])


def _tape_order(entries: Sequence[Entry]) -> list[Node]:
    order = topological(entries)
    for node in order:
        if isinstance(node, TapeNode) and node.cleared:
            raise MXNetError(
                "Part of this graph was freed by an earlier backward. If you want to differentiate "
                "the same graph twice, you need to pass retain_graph=True to backward.")
    return order


def _clear(order: Sequence[Node]) -> None:
    # variables stay: other graphs, also of other threads, may read the same values
    for node in order:
        if isinstance(node, TapeNode):
            node.clear()
