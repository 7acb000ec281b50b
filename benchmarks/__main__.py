"""Compares runtimes: python -m benchmarks --models resnet50 --batches 1 --threads 1 2 --rounds 7"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from . import peers
from .compare import Comparison, Differs, Effort
from .models import MODELS
from .onnx_files import LIGHT, ZOO, parse
from .report import write_report
from .runner import (
    DEFAULT,
    HERE,
    ONNX_DEFAULT,
    OURS,
    RUNNERS,
    Place,
    Row,
    build_bound,
    measure_peak,
)


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def read_options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=None,
                        help="by default all, or none with --onnx")
    parser.add_argument("--onnx", nargs="+", default=[], metavar="FILE",
                        help=f"ONNX files or folders, {LIGHT}, {ZOO}, {LIGHT}:NAME, {ZOO}:NAME; "
                             "what inputs leave open behind an @: FILE@width=320,x=1x3x48x320")
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 16])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--runners", nargs="+", choices=list(RUNNERS), default=None,
                        help=f"{OURS} is the base of the ratios")
    parser.add_argument("--rounds", type=int, default=Effort.rounds)
    parser.add_argument("--seconds", type=float, default=Effort.seconds,
                        help="of each turn; slow models take at least 3 steps")
    parser.add_argument("--venvs", type=Path, default=peers.VENVS)
    parser.add_argument("--models-folder", type=Path, default=Place.models)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--name", default="bench", help="of the files in the results folder")
    parser.add_argument("--cpu-time", action="store_true",
                        help="time of the CPU instead of the clock's, for one thread on a machine "
                             "that does something else too")
    parser.add_argument("--env", nargs="+", default=[], metavar="NAME=VALUE",
                        help="set for every runner")
    args = parser.parse_args(argv)
    if args.cpu_time and args.threads != [1]:
        parser.error("--cpu-time: threads that wait count too, so it needs --threads 1")
    try:
        args.files = {file.name: file for word in args.onnx for file in parse(word)}
    except ValueError as error:
        parser.error(f"--onnx: {error}")
    if args.models is None:
        args.models = [] if args.files else list(MODELS)
    if args.runners is None:
        args.runners = list(DEFAULT if args.models else ONNX_DEFAULT)
    return args


def describe_run(args: argparse.Namespace) -> dict[str, Any]:
    return {"kind": "run", "cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)),
            "system": platform.platform(), "python": platform.python_version(),
            "time": time.strftime("%Y-%m-%d %H:%M"), "rounds": args.rounds,
            "seconds": args.seconds, "cpu_time": args.cpu_time,
            "load": os.getloadavg()[0], "env": args.env}


def print_progress(record: dict[str, Any]) -> None:
    where = " ".join(str(record[key]) for key in ("model", "batch", "threads") if key in record)
    match record["kind"]:
        case "start":
            print(f"{where} {record['runner']}: first result after {record['first_s']:.2f} s")
        case "skipped":
            print(f"{where} {record['runner']}: skipped, {record['why']}")
        case "turn":
            print(f"{where} {record['runner']} round {record['round'] + 1}: "
                  f"{record['median_ms']:.3f} ms, others {record['others']:.2f}")
    sys.stdout.flush()


def main(argv: list[str] | None = None) -> int:
    args = read_options(argv)
    env = dict(pair.split("=", 1) for pair in args.env)
    # runners are started in another folder
    place = Place(args.models_folder.resolve(), args.venvs.absolute(), env,
                  args.files, args.cpu_time)
    place.models.mkdir(parents=True, exist_ok=True)
    args.results.mkdir(parents=True, exist_ok=True)
    lines = args.results / f"{args.name}.jsonl"
    wants_bound = any(RUNNERS[name].bound for name in args.runners)
    program = build_bound() if wants_bound else None
    status = 0
    with lines.open("w", encoding="utf-8") as out:
        def tell(record: dict[str, Any]) -> None:
            out.write(json.dumps(record) + "\n")
            out.flush()
            print_progress(record)

        tell(describe_run(args))
        comparison = Comparison(place, args.runners, Effort(args.rounds, args.seconds), tell,
                                program)
        if program is not None:
            for threads in args.threads:
                tell({"kind": "peak", "threads": threads,
                      "gflops": measure_peak(program, threads)})
        rows = itertools.product([*args.models, *args.files], args.batches, args.threads)
        try:
            for row in itertools.starmap(Row, rows):
                try:
                    comparison.run_row(row)
                except Differs as differs:
                    tell({"kind": "differs", "why": str(differs)})
                    print(f"error: {differs}", file=sys.stderr)
                    status = 1
        except KeyboardInterrupt:
            print("interrupted: the report holds what was measured", file=sys.stderr)
            status = 130
    for path in write_report(lines):
        print(path)
    return status


if __name__ == "__main__":
    sys.exit(main())
