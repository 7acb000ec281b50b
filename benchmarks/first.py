"""From the start of a process to its first answer: python -m benchmarks.first --rounds 10

Each round starts every runner in a new process, in another order each time: Python, the framework,
the model from its files, the first output as NumPy has it. Before that imports alone, with NumPy's
first. Files are in the cache of the system: a round that does not count comes first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from . import peers
from .models import MODELS
from .options import positive
from .process import RunnerProcess
from .runner import HERE, OURS, RUNNERS, Place, Row, Skipped, prepare_model

DEFAULT = (OURS, "ours:mapped", "ours:onnx", "onnxruntime", "openvino")
# seconds by the clock, and of all cores
Seconds = tuple[float, float]


def measure_import(python: str | Path, module: str, place: Place) -> Seconds:
    """What a process takes that only imports a module."""
    start = time.perf_counter()
    process = subprocess.Popen([python, "-c", f"import {module}"], cwd=HERE.parent,
                               env=place.environment(RUNNERS[OURS], 1))
    _, status, used = os.wait4(process.pid, 0)
    passed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Skipped(f"{module} can not be imported")
    return passed, used.ru_utime + used.ru_stime


def measure_first(name: str, row: Row, place: Place, folder: Path) -> Seconds:
    """What a process takes up to its first output."""
    command = place.command(name, row, folder / "output", None)
    process = RunnerProcess(command, place.environment(RUNNERS[name], row.threads),
                            folder / "log")
    try:
        cpu = process.wait_ready()["cpu_s"]
        return process.first_s, cpu
    finally:
        process.kill()


def in_turns(take: Mapping[str, Callable[[], Seconds]], rounds: int) -> dict[str, list[Seconds]]:
    """Times of each that can take part, after a round that does not count."""
    times: dict[str, list[Seconds]] = {}
    for name, run in take.items():
        try:
            run()
            times[name] = []
        except Skipped as reason:
            print(f"{name}: {reason}", file=sys.stderr)
    for number in range(rounds):
        names = list(times)
        for name in names if number % 2 else reversed(names):
            times[name].append(take[name]())
    return times


def rows(times: Mapping[str, Sequence[Seconds]], begin: str) -> list[str]:
    """Lines of a table: medians, and medians of ratios to the first one, round by round."""
    base = next(iter(times.values()), [])
    lines = []
    for name, own in times.items():
        cells = []
        for i in (0, 1):
            ratios = [one[i] / other[i] for one, other in zip(own, base, strict=True)]
            cells.append(f"{median(one[i] for one in own):.3f} | {median(ratios):.2f} "
                         f"({min(ratios):.2f}-{max(ratios):.2f})")
        lines.append(f"| {begin}{name} | {' | '.join(cells)} |")
    return lines


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.first", description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=["resnet50"])
    parser.add_argument("--batch", type=positive, default=1)
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2])
    parser.add_argument("--rounds", type=positive, default=10)
    parser.add_argument("--runners", nargs="+", choices=list(RUNNERS), default=list(DEFAULT))
    parser.add_argument("--venvs", type=Path, default=peers.VENVS)
    parser.add_argument("--models-folder", type=Path, default=Place.models)
    args = parser.parse_args(argv)
    # runners are started in another folder
    place = Place(args.models_folder.resolve(), args.venvs.resolve())
    place.models.mkdir(parents=True, exist_ok=True)
    pythons: dict[str, str | Path] = {"numpy": sys.executable, "ndarray_rt": sys.executable}
    for peer in dict.fromkeys(RUNNERS[name].peer for name in args.runners):
        python = peers.python_of(peer, place.venvs) if peer else None
        if python is not None:
            pythons[peer] = python
    head = "s | to the first | CPU s | to the first |\n" + "|---" * 5 + "|"
    print(f"| import | {head}")
    print("\n".join(rows(in_turns({
        name: partial(measure_import, python, name, place)
        for name, python in pythons.items()}, args.rounds), "")), flush=True)
    print(f"\n| model, threads, runner | {head}")
    with tempfile.TemporaryDirectory() as folder:
        for model, threads in product(args.models, args.threads):
            prepare_model(place, model, args.batch)
            row = Row(model, args.batch, threads)
            print("\n".join(rows(in_turns({
                name: partial(measure_first, name, row, place, Path(folder))
                for name in args.runners}, args.rounds), f"{model}, {threads}, ")), flush=True)


if __name__ == "__main__":
    main()
