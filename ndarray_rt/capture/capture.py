"""Capture: when the runs of one part of a program are recorded, and replayed. Runs no operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from .. import config
from ..op.dispatch import is_observed
from ..storage.stream import Counters
from .record import Obstacle
from .replay import BROKEN, Replay, Result

# guards that break this often stop capture: recording costs more than it brings
MAX_BREAKS = 3
# a recording that was replayed this often has paid for itself
WORTH = 8

# why there is no recording
NOTHING_RAN = "nothing ran yet"
NOT_RECORDED = "no run so far was one that may be recorded"


def hindrance() -> str:
    """Why switches or observers allow no run that is replayed; empty where they do."""
    if not config.NDRT_CAPTURE:
        return "switched off by NDRT_CAPTURE=0"
    if not config.NDRT_ONEDNN:
        return "NDRT_ONEDNN=0 lets all steps run in Python"
    if config.NDRT_TRACE:
        return "NDRT_TRACE prints each step"
    if config.NDRT_VALIDATE:
        return "NDRT_VALIDATE compares each step with NumPy"
    return "an observer, such as a profiler, is told of each step" if is_observed() else ""


class Capture:
    """When one part of a program is recorded, replayed, or left be."""

    def __init__(self, counters: Counters, settled: bool = False) -> None:
        """`counters` are told of replays. `settled`: a run of another program has settled layouts
        and scratch for this one too."""
        self.captured: Replay | None = None
        self._counters = counters
        # by what broke: a guard's reason, or a chunk that moved
        self._breaks: Counter[str | int] = Counter()
        self.reason = NOTHING_RAN
        self._settled = settled
        self._possible = True
        self._failures = 0

    @property
    def should_record(self) -> bool:
        """The next run is to be recorded."""
        return self._possible and self._settled and self.captured is None

    @property
    def breaks(self) -> int:
        """How often the guard that broke most did, since the last recording that was of use."""
        return max(self._breaks.values(), default=0)

    def ran_plainly(self) -> None:
        """A run took the ordinary path: the next one finds everything settled."""
        self._settled = True
        if self.reason in (NOTHING_RAN, NOT_RECORDED):
            self.reason = "the first run settled layouts and scratch, the next one is recorded"

    def ran_unrecorded(self) -> None:
        """A run took a path that settles nothing for later ones."""
        if self.reason == NOTHING_RAN:
            self.reason = NOT_RECORDED

    def run(self, refresh: Callable[[Replay], int] | None = None) -> bool:
        """Replays what is recorded; False, and nothing is done, where nothing is, and where a guard
        does not hold, which ends the recording. `refresh` replays after sources changed."""
        captured = self.captured
        if captured is None:
            return False
        result = captured.run()
        if result == Result.CHANGED and refresh is not None:
            result = refresh(captured)
        if result != Result.DONE:
            self._broke(captured, Result(result))
        return result == Result.DONE

    def ready(self) -> Replay | None:
        """What is recorded, where switches and observers let `Replay.replay` be called."""
        # the epoch first: a switch that changes in between makes it stale
        epoch, captured = config.epoch, self.captured
        if captured is None or hindrance():
            return None
        captured.epoch = epoch
        return captured

    def count(self) -> None:
        """Tells the counters of replays since the last time."""
        captured = self.captured
        if captured is not None:
            runs = captured.uncounted()
            self._counters.add({name: n * runs for name, n in captured.counters.items()})

    def _broke(self, captured: Replay, result: Result) -> None:
        """A guard did not hold: the recorded run is dropped.

        Chunks that moved count each for itself: where weights lose their packing one after the
        other, each of them does so once. Another number of threads does not count: it says nothing
        of the runs that follow it.
        """
        if captured.runs >= WORTH:
            self._breaks.clear()
        moved = captured.moved() if result == Result.MOVED else []
        reason = BROKEN[result]
        self.restart(reason)
        if result == Result.THREADS:
            return
        kinds: list[str | int] = [*moved] or [reason]
        self._breaks.update(kinds)
        if self.breaks >= MAX_BREAKS:
            self._possible = False
            self.reason = f"capture stopped after {self.breaks} breaks: {reason}"

    def keep(self, captured: Replay) -> None:
        """From now on runs are replayed."""
        self.captured = captured
        self.reason = "captured"

    def restart(self, reason: str) -> None:
        """Drops the recorded run: the next runs settle and record anew."""
        if self.captured is not None:
            self.count()
            self.captured.drop()
            self.captured = None
        self._settled = False
        if self._possible:
            self.reason = reason

    def could_not(self, obstacle: Obstacle) -> None:
        """A recording of a run that is done came to nothing."""
        if obstacle is Obstacle.FAILED:
            self.ran_plainly()  # the next one is recorded
        elif obstacle is Obstacle.PYTHON:
            self.refuse(obstacle.value)
        else:
            self.postpone(obstacle.value)

    def postpone(self, reason: str) -> None:
        """This recording came to nothing, which a later one need not; so often and no more."""
        self._failures += 1
        self.reason = reason
        if self._failures >= MAX_BREAKS:
            self.refuse(reason)

    def refuse(self, reason: str) -> None:
        """This graph can not be captured."""
        self._possible = False
        self.reason = reason
