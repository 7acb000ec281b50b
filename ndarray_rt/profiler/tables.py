"""Totals by kind and name, as a table or as JSON, in the form of MXNet's `profiler.dumps`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OPERATOR = "operator"
MEMORY = "Device Storage"
FORMATS = ("table", "json")


@dataclass
class Total:
    """What is known of the durations of one name: milliseconds, or kB."""

    count: int = 0
    total: float = 0.0
    least: float = float("inf")
    greatest: float = float("-inf")

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.least = min(self.least, value)
        self.greatest = max(self.greatest, value)

    @property
    def mean(self) -> float:
        return self.total / self.count


SORTS: dict[str, Callable[[Total], float]] = {
    "total": lambda t: t.total, "avg": lambda t: t.mean, "min": lambda t: t.least,
    "max": lambda t: t.greatest, "count": lambda t: t.count}

Named = list[tuple[str, Total]]


class Totals:
    """Totals of all names, by kind. Threads may add to them and read them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: dict[str, dict[str, Total]] = {}

    def add(self, kind: str, name: str, value: float) -> None:
        with self._lock:
            self._kinds.setdefault(kind, {}).setdefault(name, Total()).add(value)

    def text(self, form: str, sort_by: str, ascending: bool, reset: bool) -> str:
        """All of them, sorted in each kind; empty where there are none."""
        key = SORTS[sort_by]
        with self._lock:
            kinds = {kind: sorted(names.items(), key=lambda item: key(item[1]),
                                  reverse=not ascending)
                     for kind, names in sorted(self._kinds.items())}
            if not kinds:
                return ""
            # sorted copies of references: made into text before anything may be added
            made = _json(kinds) if form == "json" else _table(kinds)
            if reset:
                self._kinds.clear()
        return made


def _json(kinds: dict[str, Named]) -> str:
    times = {kind: {name: _numbers(total) for name, total in names}
             for kind, names in kinds.items() if kind != MEMORY}
    # sums of sizes at different times mean nothing
    memory = {kind: {name: {key: value for key, value in _numbers(total).items() if key != "Total"}
                     for name, total in names}
              for kind, names in kinds.items() if kind == MEMORY}
    return json.dumps({"Time": times, "Memory": memory, "Unit": {"Time": "ms", "Memory": "kB"}},
                      indent=4)


def _numbers(total: Total) -> dict[str, Any]:
    return {"Count": total.count, "Total": total.total, "Min": total.least, "Max": total.greatest,
            "Avg": total.mean}


def _table(kinds: dict[str, Named]) -> str:
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    for kind, names in kinds.items():
        titles = (["Total Count", "Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)"]
                  if kind == MEMORY else ["Total Count", "Time (ms)", "Min Time (ms)",
                                          "Max Time (ms)", "Avg Time (ms)"])
        lines += [kind, "=" * 17, _line("Name", titles),
                  _line("----", ["-" * len(title) for title in titles])]
        for name, t in names:
            numbers = [t.least, t.greatest, t.mean]
            if kind != MEMORY:
                numbers.insert(0, t.total)
            lines.append(_line(name, [str(t.count), *(f"{number:.4f}" for number in numbers)]))
        lines.append("")
    return "\n".join(lines) + "\n"


def _line(name: str, cells: list[str]) -> str:
    return f"{name:<25}" + "".join(f" {cell:>16}" for cell in cells)
