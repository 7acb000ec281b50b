"""The lines of one run, read back and grouped: medians of rounds, ratios, bests."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from .runner import OURS, Row

Record = dict[str, Any]
PEERS = ("mxnet", "torch:eager", "torch:channels_last", "torch:inductor", "onnxruntime", "openvino")
BOUNDS = ("bound:nhwc", "bound:blk")
BEST_PEER, BOUND = "best peer", "bound"


@dataclass(frozen=True)
class Ratio:
    """Our speed over another's: above 1 ours is faster. From medians, and least to most a round."""

    value: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.least:.2f}-{self.most:.2f})"


@dataclass
class Measured:
    """One runner in one row."""

    start: Record = field(default_factory=dict)
    turns: list[Record] = field(default_factory=list)
    end: Record = field(default_factory=dict)

    @property
    def rounds(self) -> list[float]:
        return [turn["median_ms"] for turn in self.turns]

    @property
    def ms(self) -> float:
        """The median of the rounds' medians."""
        return median(self.rounds)

    @property
    def facts(self) -> Record:
        found: Record = self.end.get("facts", {})
        return found


@dataclass
class Results:
    """All of one run."""

    run: Record = field(default_factory=dict)
    rows: dict[Row, dict[str, Measured]] = field(default_factory=dict)
    peaks: dict[int, float] = field(default_factory=dict)
    skipped: list[Record] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)

    @property
    def runners(self) -> list[str]:
        """Names of who was measured at all, in order of appearance."""
        return list(dict.fromkeys(name for found in self.rows.values() for name in found))

    def versions(self) -> dict[str, str]:
        """Version by runner."""
        return {name: measured.start["version"] for found in self.rows.values()
                for name, measured in found.items()}

    def measured(self, row: Row, name: str) -> Measured | None:
        """A runner in a row; `best peer` and `bound` stand for the fastest of several."""
        if name == BEST_PEER:
            return self._fastest(row, PEERS)
        if name == BOUND:
            return self._fastest(row, BOUNDS)
        return self.rows[row].get(name)

    def _fastest(self, row: Row, names: tuple[str, ...]) -> Measured | None:
        name = self.fastest(row, names)
        return None if name is None else self.rows[row][name]

    def fastest(self, row: Row, names: tuple[str, ...]) -> str | None:
        """Which of some runners was fastest in a row; None when none was measured."""
        there = [name for name in names if name in self.rows[row]]
        return min(there, key=lambda name: self.rows[row][name].ms, default=None)

    def ratio(self, row: Row, name: str, base: str = OURS) -> Ratio | None:
        """The speed of `base` over that of a runner; None where one of them is missing."""
        ours, other = self.measured(row, base), self.measured(row, name)
        if ours is None or other is None:
            return None
        each = [b / a for a, b in zip(ours.rounds, other.rounds, strict=False)]
        return Ratio(other.ms / ours.ms, min(each), max(each))

    def mean_ratio(self, name: str) -> tuple[float, int] | None:
        """The geometric mean of a runner's ratios, and over how many rows."""
        found = [ratio.value for row in self.rows if (ratio := self.ratio(row, name))]
        return (geometric_mean(found), len(found)) if found else None


def read_results(path: Path) -> Results:
    """Reads the lines of a run; rows that were broken off lose their last round."""
    found = Results()
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        match record["kind"]:
            case "run":
                found.run = record
            case "peak":
                found.peaks[record["threads"]] = record["gflops"]
            case "skipped":
                found.skipped.append(record)
            case "differs":
                found.differs.append(record["why"])
            case kind:
                row = Row(record["model"], record["batch"], record["threads"])
                measured = found.rows.setdefault(row, {}).setdefault(record["runner"], Measured())
                if kind == "turn":
                    measured.turns.append(record)
                else:
                    setattr(measured, kind, record)
    for row, runners in list(found.rows.items()):
        found.rows[row] = {name: measured for name, measured in runners.items() if measured.turns}
        if not found.rows[row]:
            del found.rows[row]
    return found
