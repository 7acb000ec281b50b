"""Tally: how many combinations were generated, executed and skipped, and why. Counts only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """Counts of combinations; each one generated is either executed or skipped for a reason."""

    executed: Counter[str] = field(default_factory=Counter)  # by what was done
    skipped: Counter[str] = field(default_factory=Counter)  # by reason
    met: set[str] = field(default_factory=set)  # operators on runtimes, kinds with requests

    @property
    def generated(self) -> int:
        """All combinations."""
        return self.executed.total() + self.skipped.total()

    @property
    def share(self) -> float:
        """The executed part of those generated; 1 when there are none."""
        return self.executed.total() / self.generated if self.generated else 1.0

    def ran(self, what: str) -> None:
        self.executed[what] += 1

    def skip(self, reason: str, times: int = 1) -> None:
        self.skipped[reason] += times

    def meet(self, what: str) -> None:
        self.met.add(what)

    def add(self, other: Tally) -> None:
        self.executed.update(other.executed)
        self.skipped.update(other.skipped)
        self.met |= other.met

    def take(self) -> Tally:
        """All counts so far, which start again at 0."""
        made = Tally(self.executed.copy(), self.skipped.copy(), set(self.met))
        self.met.clear()
        self.executed.clear()
        self.skipped.clear()
        return made

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for sending to another process."""
        return {"executed": dict(self.executed), "skipped": dict(self.skipped),
                "met": sorted(self.met)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        return cls(Counter(data["executed"]), Counter(data["skipped"]), set(data["met"]))

    def summary(self) -> list[str]:
        """Lines for a reader."""
        lines = [f"{self.generated} combinations generated, {self.executed.total()} executed "
                 f"({self.share:.1%}), {self.skipped.total()} skipped"]
        lines += [f"  executed {count:7d}  {what}" for what, count in self.executed.most_common()]
        lines += [f"  skipped  {count:7d}  {why}" for why, count in self.skipped.most_common()]
        return lines


# what this process ran; whoever reports it takes it
TALLY = Tally()
