"""Measures how long runs take."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from ..errors import ParameterError
from .inputs import add_input_arguments, inputs_of
from .model_file import Array, add_model_arguments, open_model
from .output import progress, shape_text, show_json, table

NAME, HELP = "bench", "measure a model"
OURS = "ndarray_rt"
Run = Callable[[Mapping[str, Array]], Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_input_arguments(parser)
    parser.add_argument("--runs", type=int, default=50, help="of each (default: 50)")


def run(given: argparse.Namespace) -> int:
    model = open_model(given)
    if given.runs < 1:
        raise ParameterError(f"--runs got {given.runs}, expected a number from 1 up")
    values = inputs_of(model, given)
    shapes = {name: value.shape for name, value in values.items()}
    from ..threads import get_num_threads
    threads = get_num_threads()
    runs: dict[str, Run] = {OURS: model.run}
    times = measure(runs, values, given.runs)
    ours = median(times[OURS])
    batch = next((shape[0] for shape in shapes.values() if shape), 1)
    found = {"shapes": {name: list(shape) for name, shape in shapes.items()}, "threads": threads,
             "runs": given.runs, "results": [
                 {"runtime": name, "median_ms": median(of) * 1e3, "least_ms": min(of) * 1e3,
                  "samples_per_second": batch / median(of), "ratio": median(of) / ours}
                 for name, of in times.items()]}
    if given.json:
        show_json(found)
    else:
        print(_text(found))
    return 0


def measure(runs: Mapping[str, Run], values: Mapping[str, Array],
            count: int) -> dict[str, list[float]]:
    """Seconds of each run; all in turn, so that other work on the machine strikes each of them."""
    for one in runs.values():
        for _ in range(3):  # the third is what all later ones are
            one(values)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in progress(range(count), "runs", count):
        for name, one in runs.items():
            start = time.perf_counter()
            one(values)
            times[name].append(time.perf_counter() - start)
    return times


def _text(found: Mapping[str, Any]) -> str:
    shapes = ", ".join(f"{name} {shape_text(shape)}" for name, shape in found["shapes"].items())
    rows = [("", "median ms", "least ms", "samples/s", f"times {OURS}'s")]
    rows += [(row["runtime"], f"{row['median_ms']:.3f}", f"{row['least_ms']:.3f}",
              f"{row['samples_per_second']:.1f}", f"{row['ratio']:.2f}")
             for row in found["results"]]
    return (f"{shapes}; {found['threads']} thread(s), {found['runs']} runs each\n"
            + table(rows, [1, 2, 3, 4]))
