"""TrainingProgram: the program for training, and for inference if no pass may run. Runs no step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._array.ndarray import NDArray, new_array
from ...op.context import OpContext
from ..memory.workspace import Workspace
from .bound_graph import BoundGraph, build_graph
from .program import Program

if TYPE_CHECKING:
    from ..bound import Bound


class TrainingProgram:
    """The graph as it was bound, with its gradients. Graph and program are made on first use, the
    graph at once if gradients are computed."""

    def __init__(self, bound: Bound) -> None:
        """MXNetError if an operator does not have the gradient that is requested."""
        self._bound = bound
        self._graph: BoundGraph | None = None
        # backward overwrites nothing that it reads of forward
        self.repeats = False
        # None until first used
        self.program: Program | None = None
        # by output, the gradient arrays that backward reads
        self.head_grads: dict[int, NDArray] = {}
        if bound.requests:
            self.graph()

    def make_head_grads(self) -> None:
        """Allocates arrays for the gradients of outputs; their contents are garbage."""
        for i in () if self._graph is None else self._graph.head_grads:
            self.head_grads[i] = new_array(*self._bound.head_facts(i), self._bound.ctx)

    def graph(self) -> BoundGraph:
        """The graph as it was bound, planned; inference alone may never need it."""
        if self._graph is None:
            bound = self._bound
            self._graph = build_graph(bound.heads, bound.requests, bound.facts)
            self.repeats = self._graph.plan.backward_repeats
        return self._graph

    def make(self, context: OpContext, workspace: Workspace) -> Program:
        """The program over the bound arrays."""
        if self.program is None:
            graph, bound = self.graph(), self._bound
            given = {entry: bound.variables[name] for name, entry in graph.variables.items()}
            given.update({graph.head_grads[i]: a for i, a in self.head_grads.items()})
            given.update({entry: bound.gradient(name) for name, entry in graph.grads.items()})
            for entry, array in zip(bound.heads, bound.outputs, strict=True):
                given.setdefault(entry, array)
            self.program = Program(graph.plan, given, context, bound.ctx, bound.is_plain,
                                   workspace.arena())
            workspace.add(self.program.state)
        return self.program

    def forget(self) -> None:
        """Arguments were replaced by other arrays."""
        self.program = None

    def reset(self) -> None:
        """Another graph is computed from now on, without gradients."""
        self._graph = self.program = None
