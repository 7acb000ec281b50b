"""Deferred: a sink that records steps first and runs many of them later in one call."""

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
    """A deferred step failed: the error of an earlier operator, not of the one being called.

    `position` is the stream's position at the call of the operator that issued the step. The
    writes of that operator and of all after it were rolled back.
    """

    def __init__(self, position: int, error: NdrtError) -> None:
        super().__init__(str(error))
        self.position = position


class _Begun(NamedTuple):
    """An operator that was called: the stream's position, and the steps issued before it."""

    position: int
    steps: int


class _Accepted(NamedTuple):
    """The number of accepted steps, and the transaction that the last of them belong to."""

    steps: int
    transaction: Transaction | None


class Deferred:
    """Records steps; runs those that wait when Python needs memory, and at `finish`.

    Preparing the next operator in Python takes several times as long right after a step that has
    filled the caches with other data, so steps are run together. They keep their order and have the
    same effect as if each had run at once: steps that do not run because of an error or an
    interrupt leave memory and layouts as they were. The caller holds the leases until the end, and
    calls `finish`, or `abandon` if an operator raised. Python functions may be recorded too.
    """

    __slots__ = ("_accepted", "_begun", "_count", "_cursor", "_kept", "_undo", "_waits",
                 "recording")
    defers = takes_python = True

    def __init__(self, estimate: int = 0) -> None:
        """`estimate`: scratch bytes that operators are expected to take."""
        self.recording = Recording(TmpMemMgr(estimate, keep=True))
        # steps are deferred; once False, each runs when it is issued
        self._waits = True
        # steps deferred or run so far; the cursor says how many of them ran
        self._count = 0
        self._cursor: Any = ffi.new("int64_t *")
        self._accepted = _Accepted(0, None)
        self._begun: list[_Begun] = []
        # for each transaction: the steps before it, memory and layouts before it
        self._undo: list[tuple[int, list[tuple[Chunk, Placement]]]] = []
        # deferred steps, which keep alive what they point into
        self._kept: list[Step] = []

    # ---- issuing steps ----------------------------------------------------------------------

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
                # one assignment, so that an interrupt finds all steps accepted, or none
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
        self.recording.end_operator(position)

    def note(self, function: Callable[[], None]) -> None:
        self.recording.add_callback(function)

    def lane(self, team: int, lane: int) -> TmpMemMgr:
        return self.recording.enter_lane(team, lane)

    # ---- running steps ----------------------------------------------------------------------

    def finish(self) -> None:
        """Runs the deferred steps. Raises StepFailed, or whatever interrupts it."""
        self.recording.end_lanes()
        self.stop()

    def abandon(self) -> None:
        """Runs the deferred steps of operators called before the one that raised. Also after an
        interrupt, unless that came while steps ran: then memory and layouts are restored."""
        if not self._waits:
            return
        # an interrupt may have come after steps ran and before they were counted
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
        """Runs all deferred steps, serving signals between operators."""
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
        """Rolls back the steps that did not run: memory and layouts are as they were before."""
        if self._cursor[0] == self._count:
            return
        for begin, undo in reversed(self._undo):
            if begin >= self._cursor[0]:
                for chunk, placement in reversed(undo):
                    chunk.restore(placement)
        self.recording.failed = "a step failed or was interrupted"
        self._count = int(self._cursor[0])
        self._waits = False
