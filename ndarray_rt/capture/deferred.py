"""Deferred: a sink of a stream that records steps first and runs them later, many in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import NdrtError
from ..native import call, ffi, lib
from ..storage.chunk import Chunk, Placement
from ..storage.stream import BUDGET
from ..storage.tmp_mem import TmpMemMgr
from ..storage.transaction import Step, Transaction
from .recording import Recording


class StepFailed(Exception):
    """A step failed later than it was issued: no error of the operator that is being called.

    `position` is the stream's at the call of the operator whose step it was; that operator and all
    behind it wrote nothing that counts.
    """

    def __init__(self, position: int, error: NdrtError) -> None:
        super().__init__(str(error))
        self.position = position


class _Begun(NamedTuple):
    """An operator that was called: the stream's position, and how many steps came before."""

    position: int
    steps: int


class _Accepted(NamedTuple):
    """Steps that were accepted: up to where, and the transaction that the last ones are of."""

    steps: int
    transaction: Transaction | None


class Deferred:
    """Records steps, and runs those that wait when memory is needed in Python and at `finish`.

    What Python does for the next operator costs several times as much behind a step that filled the
    caches with something else. The order of steps is that in which they came, and arrays are in the
    end as if each had run at once: what does not run because something fails or interrupts it
    leaves memory and layouts as they were. The caller holds the leases until the end, and calls
    `finish`, or `abandon` where an operator raised. What is recorded may call Python functions.
    """

    __slots__ = ("_accepted", "_begun", "_count", "_cursor", "_kept", "_undo", "_waits",
                 "recording")
    defers = takes_python = True

    def __init__(self, estimate: int = 0) -> None:
        """`estimate` is how much scratch operators take."""
        self.recording = Recording(TmpMemMgr(estimate, keep=True))
        # steps wait, and do not run when they come
        self._waits = True
        # steps that wait or ran; the cursor says how many ran
        self._count = 0
        self._cursor: Any = ffi.new("int64_t *")
        self._accepted = _Accepted(0, None)
        self._begun: list[_Begun] = []
        # for each transaction with steps (steps before it, memory and layouts before)
        self._undo: list[tuple[int, list[tuple[Chunk, Placement]]]] = []
        # steps that wait, for what they point into
        self._kept: list[Step] = []

    # ---- steps come -------------------------------------------------------------------------

    def begin(self, position: int) -> None:
        if self._waits:
            self._begun.append(_Begun(position, self._count))

    def hold(self, written: Sequence[Chunk]) -> None:
        """Nothing to do."""

    def run(self, step: Step) -> None:
        if self._waits:
            self._kept.append(step)
            self.recording.add(step)
            if self.recording.failed is None:
                self._count += 1
                return
            self.stop()
        step.run()
        self.recording.add(step)

    def commit(self, transaction: Transaction) -> None:
        begin = self._count
        if self._waits:
            for step in transaction.steps:
                self._kept.append(step)
                self.recording.add(step)
            if self.recording.failed is None:
                self._count = begin + len(transaction.steps)
                self._undo.append((begin, transaction.undo))
                # one assignment: an interrupt finds the steps accepted for good, or not at all
                self._accepted = _Accepted(self._count, transaction)
                return
            self.recording.cut(begin)
            self.stop()
        transaction.run()
        for step in transaction.steps:
            self.recording.add(step)

    def is_accepted(self, transaction: Transaction) -> bool:
        return transaction is self._accepted.transaction

    def end(self, position: int) -> None:
        self.recording.end_whole(position)

    def note(self, function: Callable[[], None]) -> None:
        self.recording.add_callback(function)

    def lane(self, team: int, lane: int) -> TmpMemMgr:
        return self.recording.enter_lane(team, lane)

    # ---- steps run --------------------------------------------------------------------------

    def finish(self) -> None:
        """Runs what waits. Raises StepFailed, and what interrupts it."""
        self.recording.end_lanes()
        self.stop()

    def abandon(self) -> None:
        """Runs what waits of operators that were called before the one that raised; after an
        interrupt too, unless that came while steps ran: then memory and layouts are put back."""
        if not self._waits:
            return
        # an interrupt may have come between a step and its counting
        self._count = max(int(self._cursor[0]), self._accepted.steps)
        self.recording.cut(self._count)
        self.stop()

    def stop(self) -> None:
        self.catch_up()
        self._waits = False
        self._kept.clear()
        self._begun.clear()
        self._undo.clear()

    def catch_up(self) -> None:
        """Runs all steps that wait, serving signals between operators."""
        cursor, count = self._cursor, self._count
        if cursor[0] == count:
            return
        plan = self.recording.native_plan()
        try:
            while cursor[0] < count:
                call(lib.ndrt_plan_run, plan, BUDGET, cursor, what="running an operator's steps")
        except NdrtError as error:
            position = max((b for b in self._begun if b.steps <= cursor[0]),
                           key=lambda b: b.steps, default=_Begun(0, 0)).position
            self.put_back()
            raise StepFailed(position, error) from error
        except BaseException:
            self.put_back()
            raise

    def put_back(self) -> None:
        """Memory and layouts as they were before what did not run; none of it will."""
        if self._cursor[0] == self._count:
            return
        for begin, undo in reversed(self._undo):
            if begin >= self._cursor[0]:
                for chunk, placement in reversed(undo):
                    chunk.restore(placement)
        self.recording.failed = "a step failed or was interrupted"
        self._count = int(self._cursor[0])
        self._waits = False
