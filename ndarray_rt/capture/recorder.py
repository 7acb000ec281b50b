"""Recorder: a sink of a stream that runs each step when it comes, and records it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..storage.chunk import Chunk
from ..storage.stream import Stream
from ..storage.tmp_mem import TmpMemMgr
from ..storage.transaction import Step, Transaction
from .deferred import Deferred
from .recording import Recording


class Recorder:
    """Runs each step when it comes, and notes it in `recording`."""

    __slots__ = ("operators", "recording", "steps", "takes_python", "written")
    defers = False

    def __init__(self, estimate: int = 0, takes_python: bool = False,
                 scratch: TmpMemMgr | None = None) -> None:
        """`estimate` is how much scratch operators take, `scratch` where they get it from if not
        from a manager of that size. With `takes_python` what the recording is for can call Python
        functions between native steps."""
        self.recording = Recording(scratch or TmpMemMgr(estimate, keep=True))
        self.takes_python = takes_python
        # how many operators began, and what the last one that was to be whole writes
        self.operators = 0
        self.written: list[Chunk] = []
        self.steps: list[Step] = []

    def begin(self, position: int) -> None:
        self.operators += 1
        self.steps.clear()

    def hold(self, written: Sequence[Chunk]) -> None:
        self.written = list(written)

    def run(self, step: Step) -> None:
        step.run()
        self._note(step)

    def commit(self, transaction: Transaction) -> None:
        transaction.run()
        for step in transaction.steps:
            self._note(step)

    def _note(self, step: Step) -> None:
        self.steps.append(step)
        self.recording.add(step)

    def is_accepted(self, transaction: Transaction) -> bool:
        return False

    def end(self, position: int) -> None:
        self.recording.end_whole(position)

    def catch_up(self) -> None:
        """All has run."""

    def stop(self) -> None:
        """All has run."""

    def note(self, function: Callable[[], None]) -> None:
        self.recording.add_callback(function)

    def lane(self, team: int, lane: int) -> TmpMemMgr:
        return self.recording.enter_lane(team, lane)

    # ---- the end of a run -------------------------------------------------------------------

    def finish(self) -> None:
        """All is noted."""
        self.recording.end_lanes()

    def abandon(self) -> None:
        """An operator raised: what ran before has run."""

    def put_back(self) -> None:
        """Nothing waits."""


def stream_into(sink: Recorder | Deferred) -> Stream:
    """A stream whose steps go to this sink, with scratch that its recording keeps."""
    return Stream(sink.recording.scratch[0], sink)
