"""Backward for monitors: all gradients of an operator, by the number of its input."""

from __future__ import annotations

from collections.abc import Sequence

from ..._array.ndarray import NDArray, new_array
from ..._array.req import Req
from ...symbol.node import Entry, Node
from .plan import Plan, Value
from .step import BoundStep


class WatchedGradients:
    """The gradients that each step of a plan's backward computes, by forward operator."""

    def __init__(self, plan: Plan) -> None:
        value_of = {value.entry: value for value in plan.values}
        self._names: dict[Entry, str] = {}
        # gradients that are zero, listed with the step that computes the operator's first other one
        self._zeros: dict[Node, list[tuple[str, Value]]] = {}
        for node, by_input in plan.gradients:
            assert node.op is not None
            assert node.params is not None
            found = dict(by_input)
            first = next((grad.node for grad in found.values() if grad is not None), None)
            if first is None:
                continue
            count = len(node.op.input_names(node.params))  # auxiliary states have no gradients
            for i in range(count):
                name = f"{node.name}_backward_output" + (f"{i}" if count > 1 else "")
                grad = found.get(i)
                if grad is not None:
                    self._names.setdefault(grad, name)
                elif i in found:
                    self._zeros.setdefault(first, []).append((name, value_of[node.inputs[i]]))

    def step(self, step: BoundStep) -> BoundStep:
        """The step in the form that is run for a monitor."""
        names = [self._names.get(entry) for entry in step.entries]
        zeros = self._zeros.get(step.entries[0].node, [])
        return _Watched(step, names, zeros) if zeros or any(names) else step


class _Watched(BoundStep):
    """A step of backward that computes all its gradients, whether they were requested or not."""

    __slots__ = ("_names", "_zeros")

    def __init__(self, step: BoundStep, names: Sequence[str | None],
                 zeros: Sequence[tuple[str, Value]]) -> None:
        for slot in BoundStep.__slots__:
            setattr(self, slot, getattr(step, slot))
        self._names = names
        self._zeros = zeros
        unasked = [name is not None and req == Req.kNullOp
                   for name, req in zip(names, step.reqs, strict=True)]
        self.outs = [new_array(out.shape, out.dtype, out.ctx) if is_new else out
                     for out, is_new in zip(step.outs, unasked, strict=True)]
        self.reqs = [Req.kWriteTo if is_new else req
                     for req, is_new in zip(step.reqs, unasked, strict=True)]

    @property
    def out_names(self) -> list[str]:
        return [name or own for name, own in zip(self._names, super().out_names, strict=True)]

    def seen(self) -> list[tuple[str, NDArray]]:
        zeros = [(name, new_array(value.shape, value.dtype, self.outs[0].ctx, zero=True))
                 for name, value in self._zeros]
        return [*super().seen(), *zeros]
