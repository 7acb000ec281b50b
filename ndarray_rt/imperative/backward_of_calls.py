"""Gradients of graphs that consist of Python computations only, such as calls of CachedOps.

Each node's gradient is one call, so that no gradient graph is needed: a hybridized network and its
loss are two calls. `backward` handles everything else, with the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..dtypes import DType
from ..symbol.node import Entry, Node
from .function import FunctionParams, PythonCall, PythonFunction, run_backward
from .tape import STATE, GradState, TapeNode, TapeVariable

if TYPE_CHECKING:
    from .settled_call import Settled

Facts = tuple[tuple[int, ...], DType]


class Plan:
    """The calls in the order of their gradients."""

    def __init__(self) -> None:
        self.calls: list[tuple[TapeNode, FunctionParams]] = []
        # the arrays that the leaves' gradients are stored in
        self.leaves: set[TapeVariable] = set()


def plan_calls(head: Entry, order: Sequence[Node], targets: Sequence[GradState]) -> Plan | None:
    """The calls, or None if a value is used twice, or if anything but a call computed it.

    `order` is that of `topological`, `targets` are the gradients requested by its leaves.
    """
    plan = Plan()
    # values that have a gradient already
    given = {head}
    for node in order:
        if isinstance(node, TapeVariable):
            continue
        params = node.params
        if not isinstance(node, TapeNode) or not isinstance(params, FunctionParams):
            return None
        plan.calls.append((node, params))
        for entry, facts in zip(node.inputs, params.call.facts, strict=True):
            source = entry.node
            if isinstance(source, TapeVariable):
                if not source.needs_grad:
                    continue
                assert source.grad is not None
                # written directly into its array
                if source in plan.leaves or not _fits(source.grad.array, facts):
                    return None
                plan.leaves.add(source)
            elif entry in given:
                return None
            given.add(entry)
    if not plan.calls or len({state.array._chunk for state in targets}) != len(targets):
        return None
    plan.calls.reverse()
    return plan


def _fits(array: NDArray, facts: Facts) -> bool:
    return array.shape == facts[0] and array.dtype == facts[1]


class Route(NamedTuple):
    """How backward went through settled calls, each with at most one recorded input: the kind, and
    the position of that input or -1."""

    steps: list[tuple[ref[Settled], int]]


def note_route(plan: Plan) -> None:
    """Remembers the route of a backward without a head gradient, for later ones."""
    steps: list[tuple[ref[Settled], int]] = []
    for k, (node, params) in enumerate(plan.calls):
        kind: Settled | None = params.call.kind
        last = k + 1 == len(plan.calls)
        if (kind is None or len(node.output_facts) != 1
                or len(kind.recorded) != (0 if last else 1)):
            return
        if not last and node.inputs[kind.recorded[0]].node is not plan.calls[k + 1][0]:
            return
        steps.append((ref(kind), -1 if last else kind.recorded[0]))
    plan.calls[0][1].call.kind.route = Route(steps)


def run_route(head: Any) -> bool:
    """Backward from a head by the remembered route. Returns False and does nothing if its graph is
    another one, or if something has changed."""
    if head.__class__ is not Entry or head[0].params.__class__ is not FunctionParams:
        return False
    node: Any = head[0]
    route: Route | None = getattr(node.params.call.kind, "route", None)
    if route is None:
        return False
    nodes: list[Any] = []
    calls: list[PythonCall] = []
    for kind, position in route.steps:
        if node.params.__class__ is not FunctionParams:
            return False
        call = node.params.call
        if call.kind is None or call.kind is not kind():
            return False
        nodes.append(node)
        calls.append(call)
        if position >= 0:
            node = node.inputs[position][0]
    grad: Any = calls[0].ones(0, nodes[0].output_facts[0])
    for k, (call, (_, position)) in enumerate(zip(calls, route.steps, strict=True)):
        if not call.replay_backward(grad):
            if not k:
                return False
            rest = Plan()
            rest.calls = [(node, node.params) for node in nodes[k:]]
            recording, STATE.recording = STATE.recording, False
            try:
                run_calls(rest, Entry(nodes[k], 0), grad, True)
            finally:
                STATE.recording = recording
            break
        if position >= 0:
            grad = call.own_gradient(position)
    for node, call in zip(nodes, calls, strict=True):
        for leaf in call.kind.leaves:
            leaf.fresh = True
        node.clear()
    return True


def run_calls(plan: Plan, head: Entry, head_grad: NDArray | None, train_mode: bool) -> None:
    """Runs the gradients of all calls; the tape does not record."""
    grads: dict[Entry, NDArray] = {} if head_grad is None else {head: head_grad}
    for node, params in plan.calls:
        call, out_grads = params.call, []
        for entry, facts in zip(node.outputs, node.output_facts, strict=True):
            found = grads.pop(entry, None)
            if found is None:
                # the other outputs have no gradient
                found = (call.ones(entry.index, facts) if head_grad is None and entry == head
                         else new_array(*facts, zero=True))
            out_grads.append(found)
        outs: list[NDArray] = []
        reqs: list[Req] = []
        for i, (entry, (shape, dtype)) in enumerate(zip(node.inputs, call.facts, strict=True)):
            source, req = entry.node, Req.kNullOp
            made: NDArray | None = None
            if isinstance(source, TapeNode):
                req = Req.kWriteTo
                # users may keep the arrays that their functions are given
                if isinstance(source.params, FunctionParams) and not isinstance(
                        source.params.call, PythonFunction):
                    made = call.own_gradient(i)
            elif isinstance(source, TapeVariable) and source.grad is not None:
                made, req = source.grad.array, source.grad.req
            if made is None:
                made = new_array(shape, dtype, node.output_facts[0][2])
            if isinstance(source, TapeNode):
                grads[entry] = made
            outs.append(made)
            reqs.append(req)
        run_backward(params, out_grads, outs, reqs, train_mode)
