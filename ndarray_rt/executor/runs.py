"""Runs: runs the programs of one executor, one at a time, and tracks what the last run left.

Knows no operator.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import config
from ..capture.replay import Feed, Replay
from ..fork import renew_in_child
from ..op.context import OpContext
from ..op.dispatch import is_checked
from ..op.packing import PackedStore, unpack
from ..storage.account import Account
from ..symbol.node import Entry
from .bound import Bound
from .memory.workspace import Workspace
from .program.inference_program import InferenceProgram
from .program.program import Program, Watch
from .program.training_program import TrainingProgram
from .training.update import Update

if TYPE_CHECKING:
    from .tuning.search import Tuned


class Chain(NamedTuple):
    """The recordings of one training step, replayed in turn: forward, backward and, if there is
    one, the update."""

    update: Update | None
    parts: list[Replay]


class Runs:
    """Which program runs, with which monitor, and the present state of its memory.

    Callers hold the lock of `work`. Allocations are charged to `account`.
    """

    __slots__ = ("__weakref__", "account", "bound", "chain", "context", "inference", "is_running",
                 "is_spent", "left", "monitor", "number", "ran", "ready", "stream", "training",
                 "work")

    def __init__(self, bound: Bound, context: OpContext, account: Account, work: Workspace,
                 number: int, inference: InferenceProgram, training: TrainingProgram) -> None:
        """`number` is unique to this executor."""
        self.bound = bound
        self.context = context
        self.account = account
        self.work = work
        self.inference = inference
        self.training = training
        self.number = number
        self.monitor: Watch | None = None
        # mode of the last run; None if it did not finish, or if nothing was kept for backward
        self.ran: bool | None = False
        # backward has overwritten memory of forward
        self.is_spent = False
        self.is_running = False
        # the stream of runs that are not recorded
        self.stream = context.stream
        # the recording of an inference run that may be replayed without checks in Python
        self.ready: Replay | None = None
        # a training step that may be replayed so; set if the last run of the training program was
        # such a step, or its forward
        self.chain: Chain | None = None
        # the forward of that step, if it was replayed and Python does not know yet in which layouts
        # it left its results
        self.left: Replay | None = None
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child, a run in progress in another thread does not exist any more.

        Arrays keep what they held at the fork; the next runs settle layouts and record again.
        """
        if self.is_running:
            self.is_running = False
            self.context.stream = self.stream
            self.ran = None
            self.forget_replays()
            self.restart("a fork interrupted a run")

    # ---- programs ---------------------------------------------------------------------------

    def programs(self) -> list[Program]:
        """The programs made so far."""
        return [p for p in (self.inference.program, self.training.program) if p is not None]

    def program_for(self, is_train: bool) -> Program:
        """The optimized graph for inference, unless a monitor has to see each node as bound."""
        looked_at = self.monitor is not None or is_checked()
        if is_train or looked_at or not config.NDRT_ONEDNN:
            return self.training_program()
        return self.inference.make() or self.training_program()

    def training_program(self) -> Program:
        """The program of the graph as it was bound."""
        return self.training.make(self.context, self.work)

    def restart(self, reason: str) -> None:
        """Drops all recordings."""
        for program in self.programs():
            program.restart(reason)

    def forget_replays(self) -> None:
        """The next runs do all checks again."""
        self.ready = self.chain = self.left = None

    def set_watch(self, watch: Watch | None) -> None:
        """Calls `watch` before and after each step from now on."""
        self.forget_replays()
        self.monitor = watch

    def compute(self, heads: Sequence[Entry], session: Hashable) -> None:
        """Another graph of the same arrays from now on, without gradients, with its primitives in
        another session. Nothing of the former graph is kept; weights that were packed in place get
        the default layout back. MXNetError, and all is as before, if it can not be computed."""
        self.bound.compute(heads)
        for program in self.programs():
            program.count_replays()
        self.restart("another graph is computed")
        self.forget_replays()
        self.inference.reset()
        self.training.reset()
        packed = self.context.packed
        self.context.renew(session, PackedStore())
        if packed is not None:
            unpack(packed, self.bound.variables.values())

    # ---- running ----------------------------------------------------------------------------

    def begin(self) -> None:
        """The arena is about to be written: invalidates results of earlier runs until this ends."""
        self.ran, self.is_spent = None, False
        self.work.last = self.number

    def forward(self, is_train: bool, kept: bool = False) -> None:
        """Runs forward. With `kept` a backward in either mode may follow."""
        self.run_forward(is_train, kept)
        self.ran = kept or is_train

    def run_forward(self, is_train: bool, kept: bool = False) -> None:
        """`forward` without anything kept for a user's backward."""
        self.ready = self.left = None
        self.begin()
        program = self.training_program() if kept else self.program_for(is_train)
        if program is self.training.program:
            self.chain = None
        self.is_running = True
        try:
            program.run_forward(is_train, self.monitor)
        finally:
            self.is_running = False
        if not is_train and not kept and self.monitor is None:
            self.ready = program.ready()

    def finish(self, ready: Replay) -> None:
        """Finishes a replay that returned early, to serve signals or to call Python."""
        # from now on it runs with all checks, whose cost is small compared to such a long run
        self.ready, self.is_running = None, True
        try:
            ready.finish()
            self.ready = ready if ready.has_stops else None
        finally:
            self.is_running = False

    def replay(self, part: Replay, feed: Feed | None = None) -> bool:
        """`Replay.replay` of one part of a step."""
        self.is_running = True
        try:
            return part.replay(feed)
        finally:
            self.is_running = False

    # ---- inputs -----------------------------------------------------------------------------

    def copy_inputs(self, given: Mapping[str, Any]) -> None:
        """Copies inputs into the arguments of these names, with all checks."""
        self.bound.check_inputs(given)
        self.take_over(given)
        self.bound.copy(given)

    def take_over(self, names: Iterable[str]) -> None:
        """Replaces borrowed arguments by arrays of its own; programs are planned again over
        them."""
        if not self.bound.own(names):
            return
        self.restart("an input got an array of its own")
        self.inference.forget()
        self.training.forget()
        self.forget_replays()

    # ---- tuning -----------------------------------------------------------------------------

    def tune(self, repeat: int) -> Tuned:
        """`Executor.tune`."""
        from .tuning.search import nothing_to_tune, tune_layouts
        program, graph = self.program_for(False), self.inference.graph
        if graph is None or program is not self.inference.program:
            return nothing_to_tune("inference runs the graph as it was bound")
        self.begin()
        found = tune_layouts(graph, self.bound.ctx, self.bound.is_plain, self.work.arena(), repeat)
        if found.changed:
            self.ready = None
            self.restart("tuning changed the layouts")
            assert self.context.packed is not None
            self.context.packed.clear()
            self.inference.plan_anew()
        return found
