"""The count of combinations of a run of test_ops.py: what must hold, and how it is told.

Each test sends its counts with its report, so that they arrive from other processes too. A run of
the whole file, or of the sample that `make test` takes, that executes too little fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ndarray_rt._array.req import Req
from ndarray_rt.op.registry import find
from ndarray_rt.testing.kind_words import PLAIN_KINDS, SPECIAL_WORDS, met_pair
from ndarray_rt.testing.runtimes import RUNTIMES
from ndarray_rt.testing.tally import Tally

from .case_table import all_cases

FILE = "test_ops.py"
PROPERTY, TOTAL = "combinations", "tests of " + FILE
# combinations of a run of each tier that counts
LEAST = {"all": 1_000_000, "test": 150_000}
SHARE = 0.9  # executed of those generated


def is_counted(nodeid: str) -> bool:
    return nodeid.partition("::")[0].endswith(FILE)


def to_be_met() -> set[str]:
    """Each operator of the table on each runtime, each kind of memory with each request."""
    operators = {f"{find(case.op).name} on {runtime}" for case in all_cases()
                 for runtime in RUNTIMES}
    # a sample may have just the case that is exempt there
    operators -= {f"{find(case.op).name} on {runtime}" for case in all_cases()
                  for runtime in RUNTIMES if runtime in case.exempt}
    meetings = {met_pair(role, kind, req.name) for role in ("input", "output")
                for kind in (*PLAIN_KINDS, *SPECIAL_WORDS) for req in Req}
    # such an output, where its contents do not matter, is left as its earlier life had it
    stale = {met_pair("output", "reused:other", req.name)
             for req in (Req.kWriteTo, Req.kWriteInplace)}
    return operators | meetings - stale


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
        """Did every test of the file that the tier has run: no part of it was asked for?"""
        return bool(self.seen) and len(self.seen) == self.total and not any(
            "::" in arg for arg in args)

    def complaints(self, tier: str = "all", expected: set[str] | None = None) -> list[str]:
        """What is wrong with the count of a whole run; `expected` is `to_be_met` where None."""
        if tier not in LEAST:
            return []
        executed = self.tally.executed.total()
        found = []
        if executed < LEAST[tier]:
            found.append(f"only {executed} combinations were executed, expected {LEAST[tier]}")
        if self.tally.share < SHARE:
            found.append(f"only {self.tally.share:.1%} of the combinations were executed, "
                         f"expected {SHARE:.0%}")
        missed = sorted((to_be_met() if expected is None else expected) - self.tally.met)
        if missed:
            found.append(f"{len(missed)} of what each run must meet were not: "
                         + "; ".join(missed[:10]))
        return found
