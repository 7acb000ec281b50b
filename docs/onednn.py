"""Writes docs/onednn.md: which oneDNN primitives and native kernels computed each operator
in the harness's cases, their share of the calls, and why NumPy computed the others.

Takes some minutes; what it finds depends on the machine's instruction set.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from ndarray_rt.native import lib, text
from ndarray_rt.op.dispatch import Dispatched, observe
from ndarray_rt.op.registry import REGISTRY, find
from ndarray_rt.testing.operator import run_backward, run_forward
from tests.case_table import all_cases

HERE = Path(__file__).parent
# words that differ from call to call
VARYING = re.compile(r"\([^()]*\)|'[^']*'|\b\d+(\.\d+)?\b")
MOST_REASONS = 4


class Seen:
    """What was told of one operator."""

    def __init__(self) -> None:
        self.native = self.numpy = 0
        self.kernels: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()

    def add(self, told: Dispatched) -> None:
        if told.reason is None:
            self.native += 1
            self.kernels.update(list(dict.fromkeys(told.impls)) or ["memory only"])
        else:
            self.numpy += 1
            self.reasons[VARYING.sub("N", told.reason).split(";")[0]] += 1

    def row(self, name: str) -> str:
        total = self.native + self.numpy
        share = f"{100 * self.native / total:.0f} %" if total else "-"
        kernels = ", ".join(f"`{k}`" for k, _ in self.kernels.most_common(MOST_REASONS)) or "-"
        reasons = "; ".join(r for r, _ in self.reasons.most_common(MOST_REASONS)) or "-"
        return f"| `{name}` | {kernels} | {share} of {total} | {reasons} |"


def main() -> None:
    seen: defaultdict[str, Seen] = defaultdict(Seen)
    stop = observe(lambda told: seen[told.op.name].add(told))
    try:
        for case in all_cases():
            run_forward(case, "native")
            if find(case.op).gradient is not None and "gradient" not in case.exempt:
                run_backward(case, "native")
    finally:
        stop()
    lines = ["# Operators and oneDNN", "",
             "Written by `make docs-onednn`: the harness's calls of each operator on the native "
             f"path ({text(lib.ndrt_engine_isa())}), in every kind of memory and with every "
             "request. `ndrt:...` are native kernels. Where neither computes, NumPy "
             "does, for the reasons given.", "",
             "| operator | computed by | share of calls | NumPy where |", "|---|---|---|---|"]
    lines += [seen[op.name].row(op.name) for op in REGISTRY.ops() if op.name in seen]
    (HERE / "onednn.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(seen)} operators")


if __name__ == "__main__":
    main()
