"""What ran: a table of a graph's nodes with kernels, layouts, reorders and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from ..op.dispatch import Dispatched, observe


@dataclass(frozen=True)
class Row:
    """One operator call of a run."""

    node: str
    op: str
    kernel: str  # oneDNN's implementation name, or "numpy: reason"
    layout_in: str
    layout_out: str
    reorders: int
    milliseconds: float

    @property
    def is_reference(self) -> bool:
        return self.kernel.startswith(("ref", "simple"))

    @property
    def is_numpy(self) -> bool:
        return self.kernel.startswith("numpy")


def kernel_name(told: Dispatched) -> str:
    """oneDNN's implementation names, or numpy with the reason."""
    if told.key.library == "numpy":
        return f"numpy: {told.reason}"
    return "+".join(dict.fromkeys(told.impls)) or "memory only"


def observe_run(run: Callable[[], object], repeat: int = 1) -> list[Row]:
    """Runs `run` `repeat` times; a row for each operator call of one run, times as medians."""
    runs: list[list[Dispatched]] = []
    for _ in range(repeat):
        told: list[Dispatched] = []
        stop = observe(told.append)
        try:
            run()
        finally:
            stop()
        runs.append(told)
    rows = []
    for calls in zip(*runs, strict=True):
        last = calls[-1]
        rows.append(Row(last.node or last.op.name, last.op.name, kernel_name(last),
                        last.layouts_in[0] if last.layouts_in else "-",
                        ",".join(dict.fromkeys(last.layouts_out)), last.reorders,
                        median(call.seconds for call in calls) * 1e3))
    return rows


def format_table(rows: Sequence[Row]) -> str:
    """The rows as aligned text, with totals below."""
    head = ("node", "operator", "kernel", "in", "out", "reorders", "ms")
    body = [(r.node, r.op, r.kernel, r.layout_in, r.layout_out, str(r.reorders),
             f"{r.milliseconds:.3f}") for r in rows]
    total = ("total", f"{len(rows)} calls", f"{sum(r.is_numpy for r in rows)} in numpy, "
             f"{sum(r.is_reference for r in rows)} reference", "", "",
             str(sum(r.reorders for r in rows)), f"{sum(r.milliseconds for r in rows):.3f}")
    widths = [max(len(line[i]) for line in (head, *body, total)) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(c.rjust(w) if i >= 5 else c.ljust(w)
                         for i, (c, w) in enumerate(zip(cells, widths, strict=True))).rstrip()
    rule = "  ".join("-" * w for w in widths)
    return "\n".join([line(head), rule, *map(line, body), rule, line(total)])
