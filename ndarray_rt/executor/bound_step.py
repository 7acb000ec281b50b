"""BoundStep: a step of a plan with its arrays."""

from __future__ import annotations

from .plan import Step
from .state import State


class BoundStep:
    """One operator call of a program."""

    __slots__ = ("family", "in_names", "ins", "name", "op", "out_names", "outs", "params", "reqs")

    def __init__(self, step: Step, state: State) -> None:
        op, params = step.node.op, step.node.params
        assert op is not None
        assert params is not None
        self.op = op
        self.params = params
        self.name = step.node.name
        self.family = step.family
        self.ins = [state.arrays[i] for i in step.ins]
        self.outs = [state.arrays[i] for i in step.outs]
        self.reqs = step.reqs
        names = (*op.input_names(params), *op.aux_names(params))
        self.in_names = [f"{self.name}_{name}" for name in names]
        outs = op.output_names(params)
        self.out_names = [f"{self.name}_output" if len(outs) == 1 else f"{self.name}_{name}"
                          for name in outs]
