"""Program: a planned graph over arrays, run step by step, recorded, or replayed. Plans nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..._array.ndarray import NDArray
from ...capture.capture import NOTHING_RAN, Capture, hindrance
from ...capture.deferred import Deferred
from ...capture.record import Obstacle, record
from ...capture.recorder import Recorder
from ...capture.replay import Guards, Replay
from ...collector import resting_collector
from ...context import Context
from ...native import lib
from ...op.context import OpContext
from ...op.dispatch import dispatch, dispatch_planned, is_watched
from ...precision import Precision
from ...storage.chunk import Chunk
from ...storage.handle import Handle
from ...storage.lease import Leases
from ...symbol.node import Entry
from .arrays import PlanArrays
from .plan import Kind, Plan
from .prologue import Prologue
from .step import BoundStep
from .watched_gradients import WatchedGradients

Part = tuple[int, int, bool]
Watch = Callable[[BoundStep, bool], None]  # a step, and whether it has run


class Program:
    """Runs parts of a plan: forward, or backward. Not thread-safe.

    `given` are the arrays of variables, gradients and outputs. `plainly_bound`: no array that is
    written shares memory with another one, so that all leases can be taken for a whole run.
    `prologue`: another program's, whose constants are in `given`. `like`: a program that ran the
    same steps for other shapes. `precision` is passed to operators.
    """

    @resting_collector()
    def __init__(self, plan: Plan, given: Mapping[Entry, NDArray], context: OpContext,
                 ctx: Context, plainly_bound: bool, arena: Handle | None = None,
                 prologue: Prologue | None = None, like: Program | None = None,
                 precision: Precision = Precision.FLOAT32) -> None:
        self.plan = plan
        self._context = context
        self._counters = context.stream.counters
        self._plainly_bound = plainly_bound
        self.state = PlanArrays(plan, given, ctx, arena)
        first = plan.num_prologue
        self.prologue = prologue or Prologue([BoundStep(s, self.state, precision)
                                              for s in plan.steps[:first]])
        assert len(self.prologue.steps) == first
        self.steps = [*self.prologue.steps,
                      *(BoundStep(step, self.state, precision) for step in plan.steps[first:])]
        context.varying.update(c.native.id for c in self.written(self.steps[first:]))
        self._outputs = {self.state.arrays[v.index]._chunk for v in plan.values
                         if v.kind is Kind.OUTPUT}
        self._leases = self._make_leases()
        self._captures: dict[Part, Capture] = {}
        # scratch that operators took in recorded runs, or are expected to take as in `like`
        self._scratch: int = 0 if like is None else (
            like._scratch * plan.arena_bytes // max(1, like.plan.arena_bytes))
        self._is_settled = like is not None

    # ---- running ----------------------------------------------------------------------------

    def run_forward(self, is_train: bool, watch: Watch | None = None) -> None:
        self._run((self.plan.num_prologue, self.plan.num_forward, is_train), watch)

    def run_backward(self, is_train: bool, watch: Watch | None = None) -> None:
        self._run((self.plan.num_forward, len(self.steps), is_train), watch)

    def _run(self, part: Part, watch: Watch | None) -> None:
        ctx = self._context
        found, is_apart = self._capture_of(part), watch is not None or not self._plainly_bound
        capture = None if is_apart or hindrance() else found
        if capture is None:
            found.ran_unrecorded()
        elif capture.run(self._refresh):
            return
        ctx.begin_run()
        if is_apart:
            self._run_apart(part, watch)
            return
        ctx.own_leases = False
        while not self._run_settled(part, capture):
            pass
        self._forget_offered(part)

    def _run_settled(self, part: Part, capture: Capture | None) -> bool:
        """Runs all steps on the prologue's results. Returns False and runs nothing if a source was
        written before the leases were taken: only some layers would see that write."""
        self.prologue.settle(self._context)
        with self._leases:
            if not self.prologue.is_current():
                return False
            if capture is not None and capture.should_record:
                self._record(part, capture)
            else:
                self._run_steps(part)
                if capture is not None:
                    capture.ran_plainly()
        return True

    def _run_steps(self, part: Part, begin: int = 0) -> None:
        """Runs the part's steps, from number `begin` on."""
        ctx, lane = self._context, (-1, -1)
        has_lanes = self._has_lanes()
        try:
            for i, step in enumerate(self.steps[part[0] + begin:part[1]], begin):
                if has_lanes and step.lane != lane:
                    lane = step.lane
                    ctx.stream.enter_lane(*lane)
                    lib.ndrt_threads_here(int(lane[0] >= 0))
                ctx.stream.position = i
                dispatch_planned(step.op, step.params, ctx, step.ins, step.outs, step.reqs,
                                 step.name, step.modes[part[2]])
        finally:
            lib.ndrt_threads_here(0)

    def _has_lanes(self) -> bool:
        """Whether steps of lanes run with one thread each, as in recordings: only if they were
        planned for the present number of threads."""
        return 1 < self.plan.lanes == lib.ndrt_threads_get() and not hindrance()

    def _run_apart(self, part: Part, watch: Watch | None) -> None:
        """Runs each step by itself, with its own leases."""
        ctx = self._context
        self.prologue.settle(ctx)
        ctx.own_leases = True
        gradients = None if watch is None else WatchedGradients(self.plan)
        for plain in self.steps[part[0]:part[1]]:
            step = plain if gradients is None else gradients.step(plain)
            if watch is not None:
                watch(step, False)
            dispatch(step.op, step.params, ctx, step.ins, step.outs, step.reqs, step.name,
                     step.modes[part[2]])
            if watch is not None:
                watch(step, True)
        self._forget_offered(part)

    def _forget_offered(self, part: Part) -> None:
        """Drops offered packed copies: a whole inference run has taken what it can use of them."""
        packed = self._context.packed
        if packed is not None and not part[2]:
            packed.forget_offered()

    # ---- recording and replaying --------------------------------------------------------------

    def _capture_of(self, part: Part) -> Capture:
        found = self._captures.get(part)
        if found is None:
            found = self._captures[part] = Capture(self._counters, self._is_settled and not part[2])
        return found

    def _refresh(self, captured: Replay) -> int:
        """Computes prologue and packed copies again after their sources changed, then replays."""
        while (result := self._run_refreshed(captured)) is None:
            pass
        return result

    def _run_refreshed(self, captured: Replay) -> int | None:
        """Recomputes in place what was computed from changed sources, and replays under the same
        leases; None if somebody wrote to a source before the leases were taken."""
        ctx = self._context
        ctx.begin_run()
        self.prologue.settle(ctx)
        ctx.own_leases = False
        with self._leases:
            if not self.prologue.is_current():
                return None
            assert ctx.packed is not None
            ctx.stream.begin_operator()
            ctx.packed.refresh(ctx.stream)
            captured.renew(self._sources())
            return captured.run_leased()

    def _sources(self) -> dict[Chunk, int]:
        assert self._context.packed is not None
        return {**dict(self._context.packed.sources()), **self.prologue.computed_from()}

    def _record(self, part: Part, capture: Capture) -> None:
        ctx = self._context
        steps = self.steps[part[0]:part[1]]
        chunks = list(dict.fromkeys(
            array._chunk for step in steps for array in (*step.ins, *step.outs)))
        storages = {storage._chunk for storage in self.state.storages}
        own = [chunk for chunk in chunks if chunk in storages]
        is_backward = part[0] == self.plan.num_forward
        # forward reads no memory of the program that it has not written itself
        start = [chunk.placement for chunk in own] if is_backward else None
        estimate = ctx.stream.tmp.estimate
        sink = (Recorder(estimate, takes_python=not part[2]) if part[2] or is_watched()
                else Deferred(max(self._scratch, estimate)))
        made = record(lambda begin: self._run_steps(part, begin), ctx, chunks, sink)
        if isinstance(made, Obstacle):
            capture.could_not(made)
        else:
            self._scratch = made.recording.estimate
            # training reads the weights themselves: copies packed by inference are no guards of it
            sources = {} if part[2] else self._sources()
            touched = {*chunks, *self.prologue.sources}
            recipe = made._replace(
                names=[step.params.told(step.op.name, step.name) for step in steps], written_at={
                    c: i for i in reversed(range(len(steps)))
                    for c in self.written(steps[i:i + 1])})
            capture.keep(Replay(recipe, Guards(
                self._leases, [c for c in chunks if c not in storages],
                [c for c in self.written(steps) if c not in storages], own, start,
                {c: n for c, n in sources.items() if c in touched},
                () if is_backward else self._outputs, ctx.kept_runs)))
            self._take_huge_pages(chunks)

    def _take_huge_pages(self, read: Sequence[Chunk]) -> None:
        """For weights, which each run reads from now on; if packed, for their packed copies."""
        packed, sources = self._context.packed, set[Chunk]()
        if packed is not None:
            packed.take_huge_pages()
            sources = {chunk for chunk, _ in packed.sources()}
        for chunk in read:
            if chunk.is_allocated and chunk not in sources:
                chunk.handle.take_huge_pages()

    @staticmethod
    def written(steps: Sequence[BoundStep]) -> list[Chunk]:
        """The chunks that steps write to, each once."""
        found: list[Chunk] = []
        for step in steps:
            found += [out._chunk for out, req in zip(step.outs, step.reqs, strict=True) if req]
            found += [step.ins[i]._chunk for i in step.op.mutated(step.params)]
        return list(dict.fromkeys(found))

    # ---- state ------------------------------------------------------------------------------

    def restart(self, reason: str) -> None:
        """Drops all recordings."""
        for capture in self._captures.values():
            capture.restart(reason)

    def folded_from(self) -> set[Entry]:
        """The variables that the prologue reads, without its own results."""
        values = self.plan.values
        return {values[i].entry for step in self.plan.steps[:self.plan.num_prologue]
                for i in step.ins if values[i].kind is not Kind.CONSTANT}

    def constants(self) -> dict[Entry, NDArray]:
        """The results of the prologue."""
        return {v.entry: self.state.arrays[v.index] for v in self.plan.values
                if v.kind is Kind.CONSTANT}

    def forward_capture(self, is_train: bool = False) -> Capture:
        """The capture of forward."""
        return self._capture_of((self.plan.num_prologue, self.plan.num_forward, is_train))

    def backward_capture(self) -> Capture:
        """The capture of backward."""
        return self._capture_of((self.plan.num_forward, len(self.steps), True))

    def hindrance(self, is_monitored: bool = False) -> str:
        """Why no part may be replayed now, recorded or not; empty if nothing prevents it."""
        if is_monitored:
            return "a monitor is called between the steps"
        if not self._plainly_bound:
            return "an array that is written shares memory with another one that is bound"
        return hindrance()

    def inference_state(self, is_monitored: bool = False) -> str:
        """'captured' if forward for inference is replayed, or why it is not."""
        found = self._captures.get((self.plan.num_prologue, self.plan.num_forward, False))
        return NOTHING_RAN if found is None else self.hindrance(is_monitored) or found.reason

    def capture_states(self, is_monitored: bool = False) -> dict[str, str]:
        """'captured', or why not, for each part that ran, by name and mode."""
        made = {}
        hindered = self.hindrance(is_monitored)
        for (start, _, is_train), capture in self._captures.items():
            part = "forward" if start == self.plan.num_prologue else "backward"
            made[f"{part}, {'training' if is_train else 'inference'}"] = hindered or capture.reason
        return made

    def ready(self) -> Replay | None:
        """The recording of forward for inference, if it may be replayed without checks in
        Python."""
        captured = self.forward_capture().ready()
        return captured if captured is not None and captured.is_in_place() else None

    def count_replays(self) -> None:
        """Adds what replays did since the last call to the context's counters."""
        for capture in self._captures.values():
            capture.count()

    def _make_leases(self) -> Leases:
        values, arrays = self.plan.values, self.state.arrays
        own = {array._chunk for array in self.state.storages}
        # shared leases on the program's own constants, as layers may still convert them in place
        kept = [arrays[v.index]._chunk for v in values if v.kind is Kind.CONSTANT]
        read = [arrays[v.index]._chunk for v in values if v.kind is Kind.EXTERNAL]
        own.update(kept)
        written = [arrays[v.index]._chunk for v in values if v.kind is Kind.OUTPUT]
        written += self.written(self.steps)
        return Leases([*read, *kept], [c for c in dict.fromkeys(written) if c not in own])
