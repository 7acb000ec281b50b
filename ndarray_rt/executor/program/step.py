"""BoundStep: a step of a plan with its arrays."""

from __future__ import annotations

from ..._array.ndarray import NDArray
from ..._array.req import Req
from ...op.context import Mode
from ...precision import Precision
from ...symbol.node import Entry
from .arrays import PlanArrays
from .plan import Step


def _input_names(step: Step) -> list[str]:
    """Names for monitors: those of the operator's inputs, prefixed with the node's name."""
    node = step.node
    assert node.op is not None
    assert node.params is not None
    names = (*node.op.input_names(node.params), *node.op.aux_names(node.params))
    if names == ("data",) and not node.op.names_data:
        names = ("input0",)
    return [f"{node.name}_{name}" for name in names]


class BoundStep:
    """One operator call of a program."""

    __slots__ = ("_step", "ins", "lane", "modes", "name", "op", "outs", "params", "reqs")

    def __init__(self, step: Step, state: PlanArrays,
                 precision: Precision = Precision.FLOAT32) -> None:
        op, params = step.node.op, step.node.params
        assert op is not None
        assert params is not None
        self._step = step
        self.op = op
        self.params = params
        self.name = step.node.name
        # mode for inference, and for training
        self.modes = tuple([Mode(is_train, step.variant, step.node.is_in_numpy, precision)
                            for is_train in (False, True)])
        self.lane = step.team, step.lane
        self.ins = [state.arrays[i] for i in step.ins]
        self.outs = [state.arrays[i] for i in step.outs]
        self.reqs = step.reqs

    @property
    def in_names(self) -> list[str]:
        """Names of the inputs, for monitors."""
        return _input_names(self._step)

    @property
    def in_variables(self) -> list[str | None]:
        """For each input the name of its variable, which monitors get too; None for others."""
        return [entry.node.name if entry.node.is_variable else None
                for entry in self._step.node.inputs]

    @property
    def out_names(self) -> list[str]:
        """Names of the outputs, for monitors."""
        outs = self.op.output_names(self.params)
        return [f"{self.name}_output" if len(outs) == 1 else f"{self.name}_{name}"
                for name in outs]

    @property
    def entries(self) -> list[Entry]:
        """The outputs as entries of the graph."""
        return self._step.node.outputs

    def seen(self) -> list[tuple[str, NDArray]]:
        """What monitors get after the step: names, and the outputs that were computed."""
        return [(name, array) for name, array, req in
                zip(self.out_names, self.outs, self.reqs, strict=True) if req != Req.kNullOp]
