"""Recorder: a sink that runs each step when it is issued, and records it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..storage.chunk import Chunk
from ..storage.stream import Stream
from ..storage.tmp_mem import TmpMemMgr
from ..storage.transaction import Step, Transaction
from .deferred import Deferred
from .recording import Recording


class Recorder:
    """Runs each step when it is issued, and adds it to `recording`."""

    __slots__ = ("operators", "recording", "steps", "takes_python", "written")
    defers = False

    def __init__(self, estimate: int = 0, takes_python: bool = False,
                 scratch: TmpMemMgr | None = None) -> None:
        """`estimate`: scratch bytes that operators are expected to take; `scratch`: where they are
        allocated, a manager of that size by default. With `takes_python` replays can call Python
        functions between native steps."""
        self.recording = Recording(scratch or TmpMemMgr(estimate, keep=True))
        self.takes_python = takes_python
        # operators begun so far, and the chunks that the last transaction writes
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
        self.recording.end_operator(position)

    def catch_up(self) -> None:
        """Nothing waits."""

    def stop(self) -> None:
        """Nothing waits."""

    def note(self, function: Callable[[], None]) -> None:
        self.recording.add_callback(function)

    def lane(self, team: int, lane: int) -> TmpMemMgr:
        return self.recording.enter_lane(team, lane)

    # ---- the end of a run -------------------------------------------------------------------

    def finish(self) -> None:
        """Ends the recording."""
        self.recording.end_lanes()

    def abandon(self) -> None:
        """An operator raised; there is nothing to roll back."""

    def put_back(self) -> None:
        """There is nothing to roll back."""


def stream_into(sink: Recorder | Deferred) -> Stream:
    """A stream whose steps go to this sink, with scratch that its recording keeps."""
    return Stream(sink.recording.scratch[0], sink)
