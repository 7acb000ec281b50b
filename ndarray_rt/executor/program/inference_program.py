"""InferenceProgram: makes the program for inference from a graph as bound. Runs no step."""

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
    """What an executor for other shapes or inputs can take over."""

    graph: InferenceGraph
    program: Program


class InferenceProgram:
    """The program of the optimized graph; made on first use, and again after switches changed.
    `model` comes from another executor of the same symbol and parameters."""

    def __init__(self, bound: Bound, context: OpContext, workspace: Workspace,
                 model: Model | None, precision: Precision) -> None:
        self._bound = bound
        self._context = context
        self._workspace = workspace
        self._model = model
        self.precision = precision
        self._switches: tuple[str, bool, bool] | None = None
        self.graph: InferenceGraph | None = None
        # None if not made yet, or if no pass may run
        self.program: Program | None = None

    def make(self) -> Program | None:
        """The program; None if no pass may run, and inference runs the graph as it was bound."""
        switches = (config.NDRT_SKIP_PASSES, config.NDRT_PLAN_MEMORY, config.NDRT_BATCH_TILES)
        if self._switches != switches:
            self._make(None)
            self._switches = switches
        return self.program

    def plan_anew(self) -> None:
        """Plans the same graph again, with what has been measured since."""
        # if this is interrupted, the next run does it
        switches, self._switches = self._switches, None
        self._make(self.graph)
        self._switches = switches

    def _make(self, planned: InferenceGraph | None) -> None:
        model, self._model = self._model, None
        if self.program is not None:
            self.program.count_replays()
            model = None  # made with other switches or layouts
        self.program = self.graph = None
        bound = self._bound
        graph = build_inference(bound.heads, bound.variables, bound.outputs, bound.facts,
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
        """What other executors can take over."""
        if self.graph is None or self.program is None:
            return None
        return Model(self.graph, self.program)

    def forget(self) -> None:
        """Arguments were replaced by other arrays: the next run plans again."""
        self._model = self.as_model() or self._model
        self.program = self.graph = self._switches = None

    def reset(self) -> None:
        """Another graph is computed: nothing made so far is of use to the next run."""
        self._model = self.program = self.graph = self._switches = None
