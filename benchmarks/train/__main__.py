"""Compares steps of training: python -m benchmarks.train --rows lenet:64 mlp:64 --threads 1

A step is forward with a loss, backward and an update by SGD with momentum, on one batch. Every
runner starts with the same weights, and the losses of its first steps must equal the first
runner's. Then they take turns; the table has the medians of the rounds' medians, ratios to the
first runner with the least and the most of a round, and the most memory that was ever resident.
"""

from __future__ import annotations

import argparse
import random
import sys
from itertools import product
from pathlib import Path
from statistics import median

from ..operators.__main__ import environment
from ..options import positive
from ..peers import VENVS, python_of
from ..process import RunnerFailed, RunnerProcess
from ..runner import CACHE
from .tasks import TASKS

RUNNERS = ("ours:train_step", "ours:gluon", "ours:module", "ours:imperative", "mxnet:gluon",
           "mxnet:module", "mxnet:imperative", "torch:eager", "torch:channels_last",
           "torch:inductor")
ROWS = (("lenet", 1), ("lenet", 8), ("lenet", 64), ("mlp", 64), ("lstm", 32), ("resnet50", 8))
# of the first losses
TOLERANCES = (1e-3, 1e-3, 1e-3)
# a deep network brings rounding errors far apart within a step, PyTorch's own modes too
OF_DEEP = {"resnet50": (1e-3, 3e-2)}


def row(text: str) -> tuple[str, int]:
    """A network and a batch."""
    model, _, batch = text.partition(":")
    if model not in TASKS:
        raise argparse.ArgumentTypeError(f"{text!r} is not MODEL:BATCH with a model of "
                                         f"{', '.join(TASKS)}")
    return model, positive(batch)


def start(name: str, model: str, batch: int, threads: int,
          venvs: Path) -> tuple[RunnerProcess, list[float]]:
    """A runner that has done its first steps, and their losses. Raises RunnerFailed."""
    framework = name.partition(":")[0]
    python = sys.executable if framework == "ours" else python_of(framework, venvs)
    if python is None:
        raise RunnerFailed(f"it is not installed in {venvs}")
    process = RunnerProcess(
        [str(python), "-m", "benchmarks.train.worker", "--runner", name, "--model", model,
         "--batch", str(batch), "--threads", str(threads)],
        {**environment(threads), "TORCHINDUCTOR_CACHE_DIR": str(CACHE / "inductor")},
        CACHE / f"train-{name.replace(':', '-')}.log")
    return process, process.wait_ready()["losses"]


def check_losses(name: str, losses: list[float], wanted: list[float], model: str) -> None:
    """Raises RunnerFailed where the runner does not train as the first one."""
    tolerances = OF_DEEP.get(model, TOLERANCES)
    # of a deep network the losses behind them say nothing
    for got, expected, tolerance in zip(losses, wanted, tolerances, strict=False):
        if not abs(got - expected) <= tolerance * max(abs(expected), 1e-2):
            raise RunnerFailed(f"its losses are {losses}, those of the first runner {wanted}")


def compare(names: list[str], model: str, batch: int, threads: int, rounds: int, seconds: float,
            venvs: Path) -> None:
    """Prints the lines of one network, batch and number of threads."""
    running: dict[str, RunnerProcess] = {}
    times: dict[str, list[float]] = {}
    steps: dict[str, int] = {}
    wanted: list[float] | None = None

    def fails(name: str, failure: RunnerFailed) -> None:
        print(f"{model}:{batch} {name}: skipped, {failure}", file=sys.stderr)
        if name in running:
            running.pop(name).kill()
        times.pop(name, None)

    try:
        for name in names:
            try:
                running[name], losses = start(name, model, batch, threads, venvs)
                wanted = wanted or losses
                check_losses(name, losses, wanted, model)
                # the second turn is of steps that are compiled, recorded and warm
                running[name].take_turn(2, 3)
                step = median(running[name].take_turn(2, 5).milliseconds) * 1e-3
                steps[name] = min(max(int(seconds / step), 3), 5000)
                times[name] = []
            except RunnerFailed as failure:
                fails(name, failure)
        for _ in range(rounds):
            for name in random.sample(list(running), len(running)):
                try:
                    turn = running[name].take_turn(max(1, steps[name] // 4), steps[name])
                    times[name].append(median(turn.milliseconds))
                except RunnerFailed as failure:
                    fails(name, failure)
        first = next(iter(times), None)
        for name, found in times.items():
            assert first is not None
            pairs = [b / a for a, b in zip(times[first], found, strict=True)]
            ratio = median(found) / median(times[first])
            print(f"| {model} | {batch} | {threads} | {name} | {median(found):.3f} | {ratio:.3f} "
                  f"({min(pairs):.3f}-{max(pairs):.3f}) | {running[name].peak_mb():.0f} |",
                  flush=True)
    finally:
        for process in running.values():
            process.kill()


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.train", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=row, default=list(ROWS), metavar="MODEL:BATCH")
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2])
    parser.add_argument("--runners", nargs="+", choices=RUNNERS, default=list(RUNNERS),
                        help="the first one is what others are compared with")
    parser.add_argument("--rounds", type=positive, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn, 3 steps at least")
    parser.add_argument("--venvs", type=Path, default=VENVS)
    args = parser.parse_args(argv)
    CACHE.mkdir(parents=True, exist_ok=True)
    print("| model | batch | threads | runner | ms | times the first | peak MB |")
    print("|---" * 7 + "|")
    for (model, batch), threads in product(args.rows, args.threads):
        compare(args.runners, model, batch, threads, args.rounds, args.seconds,
                args.venvs.absolute())


if __name__ == "__main__":
    main()
