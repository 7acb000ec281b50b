"""Runs rows: every runner loaded once, its output checked, then turns in rounds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from .models import Files
from .process import RunnerFailed, RunnerProcess
from .runner import RUNNERS, Place, Row, Skipped, prepare_model

TOLERANCE = 1e-4  # of the greatest value of the output
MOST_STEPS = 5000

Record = dict[str, Any]
Tell = Callable[[Record], None]
Output = npt.NDArray[np.float32]


class Differs(Exception):
    """Two runners computed different outputs: their times must not be compared."""


@dataclass(frozen=True)
class Effort:
    """How long is measured: rounds, and seconds of a turn."""

    rounds: int = 7
    seconds: float = 0.5
    least_steps: int = 3


@dataclass
class Entrant:
    """A runner that takes part in a row, and how many steps its turns have."""

    name: str
    process: RunnerProcess
    warmup: int = 1
    steps: int = 3
    medians: list[float] = field(default_factory=list)

    def calibrate(self, effort: Effort) -> None:
        """Sets the number of steps from a first short turn."""
        step = median(self.process.take_turn(1, 3).milliseconds) * 1e-3
        self.steps = min(max(int(effort.seconds / step), effort.least_steps), MOST_STEPS)
        self.warmup = min(max(self.steps // 4, 1), 200)


def check_outputs(row: Row, outputs: dict[str, Output]) -> None:
    """Differs when an output is not the first one's within TOLERANCE of its greatest value."""
    (first, wanted), *others = outputs.items()
    scale = float(np.abs(wanted).max())
    if not np.isfinite(wanted).all() or not 0 < scale < np.inf:
        raise Differs(f"{row}: the output of {first} is not finite or all zeros")
    for name, got in others:
        if got.shape != wanted.shape:
            raise Differs(f"{row}: {name} has {got.size} outputs, {first} {wanted.size}")
        distance = float(np.abs(got - wanted).max()) / scale
        if not distance <= TOLERANCE:
            raise Differs(f"{row}: {name} differs from {first} by {distance:.2g} of the scale, "
                          f"allowed is {TOLERANCE:g}")


class Comparison:
    """Rows of one run; every result goes to `tell` as it comes, as a dict for a line of JSON."""

    def __init__(self, place: Place, names: Sequence[str], effort: Effort, tell: Tell,
                 program: Path | None) -> None:
        self.place, self.names, self.effort = place, names, effort
        self.program = program
        self._tell = tell

    def run_row(self, row: Row) -> None:
        """Measures one row; Differs when outputs do."""
        try:
            prepare_model(self.place, row.model, row.batch)
        except Skipped as skipped:
            self._say("skipped", row, "all", why=str(skipped))
            return
        with contextlib.ExitStack() as ending:
            ending.callback(Files(self.place.models, row.model).floats(row.batch).unlink,
                            missing_ok=True)
            entrants = list(self._start(row, ending))
            for entrant in list(entrants):
                with self._dropping(entrant, entrants, row):
                    entrant.calibrate(self.effort)
            for number in range(self.effort.rounds):
                for entrant in rotated(entrants, number):
                    with self._dropping(entrant, entrants, row):
                        self._turn(row, entrant, number)
            for entrant in list(entrants):
                with self._dropping(entrant, entrants, row):
                    peak = entrant.process.peak_mb()
                    self._say("end", row, entrant.name, peak_mb=peak, facts=entrant.process.end())

    def _say(self, kind: str, row: Row, runner: str, **more: Any) -> None:
        self._tell({"kind": kind, "model": row.model, "batch": row.batch, "threads": row.threads,
                    "runner": runner, **more})

    @contextlib.contextmanager
    def _dropping(self, entrant: Entrant, entrants: list[Entrant], row: Row) -> Iterator[None]:
        """A runner that fails takes part no longer, and the others go on."""
        try:
            yield
        except RunnerFailed as failed:
            self._say("skipped", row, entrant.name, why=str(failed))
            entrants.remove(entrant)
            entrant.process.kill()

    def _turn(self, row: Row, entrant: Entrant, number: int) -> None:
        turn = entrant.process.take_turn(entrant.warmup, entrant.steps)
        times = turn.milliseconds
        self._say("turn", row, entrant.name, round=number, steps=len(times),
                  median_ms=median(times), min_ms=min(times), max_ms=max(times),
                  others=round(turn.others, 3))

    def _start(self, row: Row, ending: contextlib.ExitStack) -> Iterator[Entrant]:
        outputs: dict[str, Output] = {}
        for name in self.names:
            stem = f"{row.model}-{name.replace(':', '-')}"
            dump = self.place.models / f"{stem}.out"
            try:
                command = self.place.command(name, row, dump, self.program)
                process = RunnerProcess(command,
                                        self.place.environment(RUNNERS[name], row.threads),
                                        self.place.models / f"{stem}.log")
                ending.callback(process.kill)
                ready = process.wait_ready()
            except (Skipped, RunnerFailed) as problem:
                self._say("skipped", row, name, why=str(problem))
                continue
            outputs[name] = np.fromfile(dump, "<f4")
            dump.unlink()
            check_outputs(row, outputs)
            self._say("start", row, name, first_s=process.first_s, **ready)
            yield Entrant(name, process)


def rotated(entrants: Sequence[Entrant], number: int) -> list[Entrant]:
    """The order of a round: in each another one begins."""
    shift = number % len(entrants) if entrants else 0
    return [*entrants[shift:], *entrants[:shift]]
