"""Capture: decides when one part of a program is recorded and replayed. Runs no operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from .. import config
from ..op.dispatch import is_observed
from ..storage.stream import Counters
from .record import Obstacle
from .replay import BROKEN, Replay, Result

# a guard that breaks this often stops capture: recording costs more than it saves
MAX_BREAKS = 3
# a recording that was replayed this often has paid for itself
WORTH = 8

# why there is no recording
NOTHING_RAN = "nothing ran yet"
NOT_RECORDED = "no run so far was one that may be recorded"


def hindrance() -> str:
    """Why switches or observers forbid replays; empty where they allow them."""
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
    """Whether one part of a program is to be recorded, replayed, or run step by step."""

    def __init__(self, counters: Counters, settled: bool = False) -> None:
        """`counters` add up what replays do. `settled`: a run of another program has settled
        layouts and scratch for this one too."""
        self.captured: Replay | None = None
        self._counters = counters
        # breaks by cause: a guard's reason, or the number of a chunk that moved
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
        """How often the most frequent cause broke a guard, since the last useful recording."""
        return max(self._breaks.values(), default=0)

    def ran_plainly(self) -> None:
        """A run went step by step: layouts and scratch are settled for the next one."""
        self._settled = True
        if self.reason in (NOTHING_RAN, NOT_RECORDED):
            self.reason = "the first run settled layouts and scratch, the next one is recorded"

    def ran_unrecorded(self) -> None:
        """A run took a path that settles nothing for later ones."""
        if self.reason == NOTHING_RAN:
            self.reason = NOT_RECORDED

    def run(self, refresh: Callable[[Replay], int] | None = None) -> bool:
        """Replays the recording. Returns False and does nothing if there is none, or if a guard
        does not hold, which also drops the recording. `refresh` replays after sources changed."""
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
        """The recording, if switches and observers allow `Replay.replay` to be called."""
        # the epoch is read first: if a switch changes in between, `replay` sees that it is stale
        epoch, captured = config.epoch, self.captured
        if captured is None or hindrance():
            return None
        captured.epoch = epoch
        return captured

    def count(self) -> None:
        """Adds what replays did since the last call to the counters."""
        captured = self.captured
        if captured is not None:
            runs = captured.uncounted()
            self._counters.add({name: n * runs for name, n in captured.counters.items()})

    def _broke(self, captured: Replay, result: Result) -> None:
        """A guard did not hold: the recorded run is dropped.

        Each chunk that moved is counted separately, as weights that lose their packed layout one
        after another do so once each. A change of the number of threads is not counted: it says
        nothing about later runs.
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
        """Replays `captured` from now on."""
        self.captured = captured
        self.reason = "captured"

    def restart(self, reason: str) -> None:
        """Drops the recording: the next runs settle layouts, then record again."""
        if self.captured is not None:
            self.count()
            self.captured.drop()
            self.captured = None
        self._settled = False
        if self._possible:
            self.reason = reason

    def could_not(self, obstacle: Obstacle) -> None:
        """The run has finished, but its recording can not be used."""
        if obstacle is Obstacle.FAILED:
            self.ran_plainly()  # the next one is recorded
        elif obstacle is Obstacle.PYTHON:
            self.refuse(obstacle.value)
        else:
            self.postpone(obstacle.value)

    def postpone(self, reason: str) -> None:
        """This recording failed; another one is tried, up to MAX_BREAKS times."""
        self._failures += 1
        self.reason = reason
        if self._failures >= MAX_BREAKS:
            self.refuse(reason)

    def refuse(self, reason: str) -> None:
        """Never records again."""
        self._possible = False
        self.reason = reason
