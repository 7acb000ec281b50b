"""Compares single operators: python -m benchmarks.operators --set small --rounds 7"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean, median

from ..peers import python_of
from ..process import RunnerFailed, RunnerProcess
from ..runner import CACHE, SCRUBBED
from .cases import SETS

FRAMEWORKS = ("ours", "mxnet", "torch")


def environment(threads: int) -> dict[str, str]:
    """Ours without what a shell set for one library, with a number of threads for all."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(SCRUBBED)}
    return {**kept, "OMP_NUM_THREADS": str(threads), "MXNET_CPU_WORKER_NTHREADS": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.operators", description=__doc__)
    parser.add_argument("--set", choices=list(SETS), default="small")
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=list(FRAMEWORKS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="a part of the names of cases")
    parser.add_argument("--venvs", type=Path, default=Path(__file__).parents[1] / ".venvs")
    args = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    running: dict[str, RunnerProcess] = {}
    for name in args.frameworks:
        python = sys.executable if name == "ours" else python_of(name, args.venvs)
        if python is None:
            print(f"{name}: skipped, it is not installed in {args.venvs}", file=sys.stderr)
            continue
        process = RunnerProcess(
            [str(python), "-m", "benchmarks.operators.worker", "--framework", name, "--set",
             args.set, "--threads", str(args.threads)],
            environment(args.threads), CACHE / f"operators-{name}.log")
        print(f"{name} {process.wait_ready()['version']}", file=sys.stderr)
        running[name] = process
    try:
        compare(running, args.set, args.rounds, args.only)
    finally:
        for process in running.values():
            process.kill()


def compare(running: dict[str, RunnerProcess], group: str, rounds: int, only: str) -> None:
    """Prints a row for each case: microseconds of ours, the others' as multiples of it."""
    others = [name for name in running if name != "ours"]
    print("| case | ours, us | " + " | ".join(f"{name} / ours" for name in others) + " |")
    print("|---" * (2 + len(others)) + "|")
    ratios: dict[str, list[float]] = defaultdict(list)
    for number, case in enumerate(SETS[group]):
        if only not in case.name:
            continue
        times: dict[str, list[float]] = defaultdict(list)
        gone = set()
        for _ in range(rounds):
            for name in random.sample(list(running), len(running)):
                if name in gone:
                    continue
                try:
                    turn = running[name].take_turn(2, 5, str(number))
                    times[name].append(median(turn.milliseconds) * 1e3)
                except RunnerFailed as failure:
                    gone.add(name)
                    print(f"{case.name}: {name}: {failure}", file=sys.stderr)
        cells = []
        for name in others:
            if times[name] and times["ours"]:
                pairs = [b / a for a, b in zip(times["ours"], times[name], strict=False)]
                ratios[name].append(median(times[name]) / median(times["ours"]))
                cells.append(f"{ratios[name][-1]:.2f} ({min(pairs):.2f}-{max(pairs):.2f})")
            else:
                cells.append("-")
        own = f"{median(times['ours']):.2f}" if times["ours"] else "-"
        print(f"| {case.name} | {own} | " + " | ".join(cells) + " |", flush=True)
        for name in gone:
            running.pop(name).kill()
    for name, found in ratios.items():
        print(f"\n{name} / ours: geometric mean {geometric_mean(found):.2f}, "
              f"least {min(found):.2f}")


if __name__ == "__main__":
    main()
