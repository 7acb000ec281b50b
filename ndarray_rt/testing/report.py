"""Report: what a check ran, and what it did not and why. Data only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ran:
    """One part of a check: how many calls were made and compared, or why none was."""

    check: str  # what was looked at, such as "forward", "backward", "gradient"
    runtime: str  # what computed, such as "numpy", "native", "executor"
    executed: int
    skipped: str = ""  # the reason, where nothing ran


@dataclass
class Report:
    """What a check of this module did; printing it gives a line for each part."""

    subject: str
    parts: list[Ran] = field(default_factory=list)

    @property
    def executed(self) -> int:
        """Calls that were made and compared."""
        return sum(part.executed for part in self.parts)

    @property
    def skipped(self) -> dict[tuple[str, str], str]:
        """(check, runtime) -> why nothing ran there."""
        return {(part.check, part.runtime): part.skipped for part in self.parts if part.skipped}

    @property
    def by_runtime(self) -> dict[str, int]:
        """Runtime -> calls that were made and compared on it."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts[part.runtime] += part.executed
        return dict(counts)

    def __str__(self) -> str:
        lines = [f"{self.subject}: {self.executed} calls compared"]
        for part in self.parts:
            what = f"skipped: {part.skipped}" if part.skipped else str(part.executed)
            lines.append(f"  {part.check} on {part.runtime}: {what}")
        return "\n".join(lines)
