"""Gradients of graphs of Python computations alone, such as calls of CachedOps.

Each node's gradient is one call, so no graph of the gradient is to be made for them: a hybridized
network and its loss are two calls. What is less simple is left to `backward`, with the same result.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._array.create import full
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..dtypes import DType
from ..symbol.node import Entry, Node
from .function import FunctionParams, run_backward
from .tape import GradState, TapeNode, TapeVariable

Facts = tuple[tuple[int, ...], DType]


class Plan:
    """The calls in the order of their gradients."""

    def __init__(self) -> None:
        self.calls: list[tuple[TapeNode, FunctionParams]] = []
        # the arrays that leaves want their gradients in
        self.leaves: set[TapeVariable] = set()


def plan_calls(head: Entry, order: Sequence[Node], targets: Sequence[GradState]) -> Plan | None:
    """What to call; None where a value is used twice, or something else than a call computed it.

    `order` is that of `topological`, `targets` are the gradients that its leaves want.
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
                # written straight into its array
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


def run_calls(plan: Plan, head: Entry, head_grad: NDArray | None, train_mode: bool) -> None:
    """Runs the gradients of all calls; the tape is not recording."""
    grads: dict[Entry, NDArray] = {} if head_grad is None else {head: head_grad}
    for node, params in plan.calls:
        facts = node.output_facts
        out_grads = []
        for entry, (shape, dtype, ctx) in zip(node.outputs, facts, strict=True):
            found = grads.pop(entry, None)
            if found is None:
                # of the head ones, of outputs that nothing came of zeros
                found = (full(shape, 1, ctx, dtype) if entry == head and head_grad is None
                         else new_array(shape, dtype, ctx, zero=True))
            out_grads.append(found)
        outs: list[NDArray] = []
        reqs: list[Req] = []
        for entry, (in_shape, in_dtype) in zip(node.inputs, params.call.facts, strict=True):
            source = entry.node
            state = source.grad if isinstance(source, TapeVariable) else None
            if state is not None and state.req != Req.kNullOp:
                outs.append(state.array)
                reqs.append(state.req)
                continue
            made = new_array(in_shape, in_dtype, facts[0][2])
            outs.append(made)
            if isinstance(source, TapeNode):
                grads[entry] = made
                reqs.append(Req.kWriteTo)
            else:
                reqs.append(Req.kNullOp)
        run_backward(params, out_grads, outs, reqs, train_mode)
