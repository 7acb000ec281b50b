"""The count of combinations of a whole run of test_ops.py: what must hold, and how it is told.

Each test sends its counts with its report, so that they arrive from other processes too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ndarray_rt.testing.tally import Tally

FILE = "test_ops.py"
PROPERTY, TOTAL = "combinations", "tests of " + FILE
LEAST = 50_000  # combinations of a whole run
SHARE = 0.9  # executed of those generated


def is_counted(nodeid: str) -> bool:
    return nodeid.partition("::")[0].endswith(FILE)


class Run:
    """What the reports of one session say."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.seen: set[str] = set()
        self.total = 0

    def add(self, nodeid: str, properties: Iterable[tuple[str, Any]]) -> None:
        """One test is over."""
        if not is_counted(nodeid):
            return
        self.seen.add(nodeid)
        for name, value in properties:
            if name == PROPERTY:
                self.tally.add(Tally.from_dict(value))
            elif name == TOTAL:
                self.total = max(self.total, int(value))

    def is_whole(self, args: Iterable[str]) -> bool:
        """Every test of the file ran: none was deselected, nor a part of the file asked for."""
        return bool(self.seen) and len(self.seen) == self.total and not any(
            "::" in arg for arg in args)

    def complaints(self) -> list[str]:
        """What is wrong with the count of a whole run."""
        executed = self.tally.executed.total()
        found = []
        if executed < LEAST:
            found.append(f"only {executed} combinations were executed, expected {LEAST}")
        if self.tally.share < SHARE:
            found.append(f"only {self.tally.share:.1%} of the combinations were executed, "
                         f"expected {SHARE:.0%}")
        return found
