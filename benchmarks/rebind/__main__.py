"""A new batch size on a bound model: python -m benchmarks.rebind --models resnet50 --rounds 5

Bind and first run at another batch (`reshape`, `forward`) over the first bind and run of a process,
each time in a fresh one; the ratio is of medians over rounds, with least and most of a round. The
last column leaves one steady run at the other batch out, which no bind can make shorter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from statistics import median

from ..models import MODELS
from ..options import positive
from ..runner import HERE, SCRUBBED, Place, prepare_model


def measure(place: Place, model: str, batches: tuple[int, int], threads: int,
            is_tuned: bool) -> dict[str, float]:
    """What worker.py prints, in a new process."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(SCRUBBED)}
    command = [sys.executable, "-m", "benchmarks.rebind.worker", "--folder", str(place.models),
               "--model", model, "--batches", *map(str, batches), "--threads", str(threads),
               *(["--tune"] if is_tuned else [])]
    done = subprocess.run(command, env=env, cwd=HERE.parent, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def row(times: list[dict[str, float]]) -> str:
    """The cells of a row."""
    middle = {name: median(t[name] for t in times) for name in times[0]}
    rest = [(t["second"] - t["steady"]) / t["first"] for t in times]
    ratios = [t["second"] / t["first"] for t in times]
    cells = [f"{middle[name]:.1f}" for name in ("first", "second", "reshape", "steady")]
    cells.append(f"{middle['second'] / middle['first']:.2f} ({min(ratios):.2f}-{max(ratios):.2f})")
    cells.append(f"{(middle['second'] - middle['steady']) / middle['first']:.2f} "
                 f"({min(rest):.2f}-{max(rest):.2f})")
    return " | ".join(cells)


def pair(text: str) -> tuple[int, int]:
    """Two batches."""
    first, colon, second = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST:OTHER")
    return positive(first), positive(second)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.rebind", description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--batches", nargs="+", type=pair, default=[(2, 1), (1, 2)],
                        metavar="FIRST:OTHER")
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2])
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--tune", action="store_true", help="the first bind tunes too")
    parser.add_argument("--models-folder", type=Path, default=Place.models)
    args = parser.parse_args(argv)
    # workers are started in another folder
    place = Place(args.models_folder.resolve())
    place.models.mkdir(parents=True, exist_ok=True)
    print("| model | batch | threads | first, ms | other, ms | its reshape | its steady run "
          "| other / first | without the run |")
    print("|---" * 9 + "|")
    for model in args.models:
        prepare_model(place, model, 1)
        for batches, threads in product(args.batches, args.threads):
            times = [measure(place, model, batches, threads, args.tune)
                     for _ in range(args.rounds)]
            print(f"| {model} | {batches[0]} to {batches[1]} | {threads} | {row(times)} |",
                  flush=True)


if __name__ == "__main__":
    main()
