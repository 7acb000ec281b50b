"""Running gradients: the tape's graph is differentiated as any graph and executed node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._array.access import Access
from .._array.copy import copy_into
from .._array.create import full
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..errors import MXNetError, NdrtError, ShapeError, where
from ..op.infer import need_like, same_shape, same_type
from ..op.params import NoParams, Params
from ..op.registry import OpDef, find
from ..symbol.gradient import gradient_graph
from ..symbol.node import Entry, Node, topological
from .backward_of_calls import note_route, plan_calls, run_calls, run_route
from .call import infer_outputs, run_op
from .function import FunctionParams
from .function import run_backward as run_python
from .tape import (
    STATE,
    GradState,
    Saved,
    TapeNode,
    TapeVariable,
    entry_of,
    needs_record,
    record,
    tape_node,
)

NOT_RECORDED = (
    "Cannot differentiate node because it is not in a computational graph. You need to set "
    "is_recording to true or use autograd.record() to save computational graphs for backward. If "
    "you want to differentiate the same graph twice, you need to pass retain_graph=True to "
    "backward.")


# no entry of the registry: nobody can call it
CONSTANT = OpDef("constant", NoParams, inputs=("data",), infer_shape=same_shape,
                 infer_type=same_type, compute=lambda ctx, p, ins, outs: outs[0].write(ins[0]),
                 gradient=lambda emit, node, out_grads: [out_grads[0]])


class GradNode(Node):
    """A node of the gradient, made and run within one backward."""

    __slots__ = ()


class HeadVariable(Node):
    """The gradient given for a head."""

    __slots__ = ("array",)

    def __init__(self, array: NDArray) -> None:
        super().__init__(None, "head_grad")
        self.array = array


def _make(op_name: str, params: Params, inputs: Sequence[Entry], name: str) -> Node:
    # nodes of the tape seldom have names; the operator's says more than "_backward"
    return GradNode(find(op_name), "" if name.startswith("_") else name, {}, params, inputs)


def backward(heads: Sequence[NDArray], head_grads: Sequence[NDArray | None],
             retain_graph: bool = False, train_mode: bool = True) -> None:
    """Gradients of the heads for all leaves, written or added to where the leaves want them."""
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
        results = gradient_graph(entries, _head_grad_entries(given),
                                 [Entry(leaf, 0) for leaf in leaves], _make)
        run = _Run(results, grads, train_mode)
    recording, STATE.recording = STATE.recording, False
    try:
        if calls is None:
            run.execute()
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
    given = _head_grad_entries(_head_grad_arrays(heads, head_grads))
    results = gradient_graph(entries, given, wanted, _make)
    made = [GradState(new_array(x.shape, x.dtype, x.ctx), Req.kWriteTo) for x in variables]
    run = _Run(results, made, train_mode, create_graph)
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
    """Puts an array on the tape whose gradient for the leaves is zero, for it depends on none."""
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


def _head_grad_entries(arrays: Sequence[NDArray | None]) -> list[Entry | None]:
    return [None if array is None else Entry(HeadVariable(array), 0) for array in arrays]


def _begins_with(shape: tuple[int, ...], rows: tuple[int, ...]) -> bool:
    """An array of this shape has as many rows, or more: scripts of MXNet's rely on the first."""
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
    # variables stay: other graphs may read the same values, those of other threads too
    for node in order:
        if isinstance(node, TapeNode):
            node.clear()


class _Run:
    """One execution of a gradient graph, writing results to their arrays."""

    def __init__(self, results: Sequence[Entry | None], targets: Sequence[GradState],
                 train_mode: bool, create_graph: bool = False) -> None:
        self._results = results
        self._wanted = Counter(entry for entry in results if entry is not None)
        self._targets = targets
        self._train_mode = train_mode
        self._create_graph = create_graph
        self._order = topological(self._wanted, GradNode)
        self._values: dict[Entry, NDArray] = {}
        self._uses: Counter[Entry] = Counter()
        for node in self._order:
            self._uses.update(node.inputs)
        self._direct = self._find_direct()

    def _find_direct(self) -> dict[Entry, int]:
        """Results that their node may write straight into the target: entry -> target."""
        chunks = Counter(state.array._chunk for state in self._targets)
        made: dict[Entry, int] = {}
        if self._create_graph:
            return made
        for i, (entry, state) in enumerate(zip(self._results, self._targets, strict=True)):
            if (entry is None or entry in made or not isinstance(entry.node, GradNode)
                    or chunks[state.array._chunk] > 1):
                continue
            # others read the entry: the target must hold just it, and not a sum
            if state.req == Req.kAddTo and (self._uses[entry] or self._wanted[entry] > 1):
                continue
            made[entry] = i
        return made

    def execute(self) -> None:
        for node in self._order:
            self._execute(node)
        given: set[GradState] = set()
        for i, (entry, state) in enumerate(zip(self._results, self._targets, strict=True)):
            again = state in given
            given.add(state)
            if entry is None:
                if not again:
                    _write_zero(state)
            elif self._direct.get(entry) != i:
                self._deliver(entry, state, again)

    def _execute(self, node: Node) -> None:
        op, params = node.op, node.params
        assert op is not None
        assert params is not None
        ignored = op.ignored(params)
        ins = [self._value(entry, i in ignored, node) for i, entry in enumerate(node.inputs)]
        facts = infer_outputs(op, params, ins, node.name)
        outs: list[NDArray] = []
        reqs: list[Req] = []
        for entry, (shape, dtype) in zip(node.outputs, facts, strict=True):
            direct = self._direct.get(entry)
            if direct is not None:
                state = self._targets[direct]
                if state.array.shape == shape and state.array.dtype == dtype:
                    outs.append(state.array)
                    reqs.append(state.req)
                    continue
                del self._direct[entry]
            outs.append(new_array(shape, dtype, ins[0].ctx if ins else None))
            wanted = self._uses[entry] or self._wanted[entry]
            reqs.append(Req.kWriteTo if wanted else Req.kNullOp)
        if isinstance(params, FunctionParams):
            run_python(params, ins, outs, reqs, self._train_mode)
        else:
            run_op(op, params, ins, outs, reqs, node.name, self._train_mode)
            if self._create_graph and needs_record(ins):
                record(op, params, ins, outs, node.name)
        for entry, out, req in zip(node.outputs, outs, reqs, strict=True):
            if req:
                self._values[entry] = out
        for entry in node.inputs:
            self._release(entry)

    def _release(self, entry: Entry) -> None:
        self._uses[entry] -= 1
        if not self._uses[entry] and not self._wanted[entry]:
            self._values.pop(entry, None)

    def _value(self, entry: Entry, ignored: bool, reader: Node) -> NDArray:
        found = self._values.get(entry)
        if found is not None:
            return found
        node = entry.node
        if isinstance(node, HeadVariable):
            return node.array
        assert isinstance(node, (TapeNode, TapeVariable))
        saved: Saved | None = node.saved[entry.index]
        if saved is not None:
            made = saved.array if ignored else saved.get(
                where(reader.op.name, reader.name) if reader.op else "backward")
        elif ignored:
            facts = (node.output_facts[entry.index] if isinstance(node, TapeNode)
                     else node.facts)
            made = new_array(*facts)
        else:
            name = where(reader.op.name, reader.name) if reader.op else reader.name
            raise NdrtError(f"{name}: a value that the gradient reads was not kept")
        if self._create_graph:
            made = made.detach()
            made._entry = entry
        return made

    def _deliver(self, entry: Entry, state: GradState, again: bool) -> None:
        """A result that no node wrote to its target: a head's gradient, or one wanted twice.

        `again`: the same array was a leaf with another value too, whose gradient it has got.
        """
        value = self._value(entry, False, entry.node)
        target = state.array
        if value.shape != target.shape:
            raise ShapeError(f"backward: a gradient of shape {value.shape} can not go to a "
                             f"gradient array of shape {target.shape}")
        if self._create_graph:
            state.array = value
            return
        with Access(read=(value,), written=(target,)) as stream:
            copy_into(value, target, stream, add=again or state.req == Req.kAddTo)


def _write_zero(state: GradState) -> None:
    """The heads do not depend on this leaf, but for operators whose gradient is zero."""
    if state.req == Req.kWriteTo:
        full(state.array.shape, 0, out=state.array)
