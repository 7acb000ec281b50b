"""InferenceProgram: what runs for inference, made of a graph as it is bound. Runs no step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ... import config
from ...op.context import OpContext
from ...precision import Precision
from ..memory.workspace import Workspace
from .inference import InferenceGraph, build_inference, shared_prologue
from .program import Program

if TYPE_CHECKING:
    from ..bound import Bound


class Model(NamedTuple):
    """What an executor for other shapes, or over other inputs, may go on with."""

    graph: InferenceGraph
    program: Program


class InferenceProgram:
    """The program of the optimized graph; made when it is first asked for, and made anew under
    other switches. `model` is another executor's for the same symbol and parameters."""

    def __init__(self, bound: Bound, context: OpContext, workspace: Workspace,
                 model: Model | None, precision: Precision) -> None:
        self._bound = bound
        self._context = context
        self._workspace = workspace
        self._model = model
        self.precision = precision
        self._switches: tuple[str, bool, bool] | None = None
        self.graph: InferenceGraph | None = None
        # None where it was not made yet, and where no pass may run
        self.program: Program | None = None

    def make(self) -> Program | None:
        """The program; None where no pass may run: inference runs the graph as it was bound."""
        switches = (config.NDRT_SKIP_PASSES, config.NDRT_PLAN_MEMORY, config.NDRT_BATCH_TILES)
        if self._switches != switches:
            self._make(None)
            self._switches = switches
        return self.program

    def plan_anew(self) -> None:
        """The same graph, planned by what has been measured since."""
        # what stops this half-way leaves it to the next run
        switches, self._switches = self._switches, None
        self._make(self.graph)
        self._switches = switches

    def _make(self, planned: InferenceGraph | None) -> None:
        model, self._model = self._model, None
        if self.program is not None:
            self.program.count_replays()
            model = None  # it was made under other switches, or with other layouts
        self.program = self.graph = None
        bound = self._bound
        graph = build_inference(bound.symbol.entries, bound.variables, bound.outputs, bound.facts,
                                planned if model is None else model.graph, self.precision)
        if graph is not None:
            prologue = None if model is None else shared_prologue(graph, *model)
            self.program = Program(graph.plan, graph.given, self._context, bound.ctx,
                                   bound.is_plain, self._workspace.arena(), prologue,
                                   None if prologue is None or model is None else model.program,
                                   self.precision)
            self._workspace.add(self.program.state)
        self.graph = graph

    def as_model(self) -> Model | None:
        """What others may go on with."""
        if self.graph is None or self.program is None:
            return None
        return Model(self.graph, self.program)

    def forget(self) -> None:
        """Arguments are other arrays now: the next run plans over them."""
        self._model = self.as_model() or self._model
        self.program = self.graph = self._switches = None
