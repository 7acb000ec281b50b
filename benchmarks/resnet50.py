"""ResNet-50 inference beside the raw C program of the same unfused oneDNN primitives.

    python benchmarks/resnet50.py --threads 1 --rounds 7

Both sides run in processes of their own, in turns, with nothing else to do; the table shows the
median of the rounds' medians and their spread, and our time as a multiple of the bound's. Needs
the oneDNN headers (pip install onednn-devel-cpu-gomp==2023.2.0) and a C compiler for the bound.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
OURS = """
import json, sys, time
sys.path.insert(0, {examples!r})
import ndarray_rt as mx
import resnet50
mx.set_num_threads({threads})
exe = resnet50.resnet50().simple_bind(mx.cpu(), grad_req="null", data=({batch}, 3, 224, 224))
resnet50.fill(exe)
for _ in range(5):
    exe.forward()
before = exe.counters["reorders"]
times = []
for _ in range({runs}):
    start = time.perf_counter()
    exe.forward()
    times.append((time.perf_counter() - start) * 1e3)
reorders = (exe.counters["reorders"] - before) / {runs}
totals = exe.explain().totals
print(json.dumps(dict(times=times, reorders=reorders, reference=totals["reference"],
                      numpy=totals["numpy"])))
"""


def ours(args: argparse.Namespace) -> dict:
    code = OURS.format(examples=str(ROOT / "examples"), threads=args.threads, batch=args.batch,
                       runs=args.runs)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "benchmarks", text=True,
                          check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return {**found, "median": median(found["times"])}


def bound(args: argparse.Namespace, program: str, mode: str) -> dict:
    done = subprocess.run(
        [program, "--net", "resnet50_v1", "--mode", mode, "--batch", str(args.batch), "--threads",
         str(args.threads), "--rounds", str(args.runs), "--json"],
        text=True, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return {**found, "median": found["median_ms"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    program = subprocess.run([sys.executable, ROOT / "benchmarks/bound/build.py"], text=True,
                             check=True, stdout=subprocess.PIPE).stdout.strip()
    runners = {"bound, fused": lambda: bound(args, program, "fused"),
               "bound, unfused": lambda: bound(args, program, "unfused"),
               "bound, naive": lambda: bound(args, program, "naive"),
               "ndarray_rt": lambda: ours(args)}
    rounds: dict[str, list[dict]] = {name: [] for name in runners}
    for _ in range(args.rounds):
        for name, run in runners.items():
            rounds[name].append(run())
    base = median(r["median"] for r in rounds["bound, unfused"])
    print(f"ResNet-50 v1, batch {args.batch}, {args.threads} thread(s), {args.rounds} rounds of "
          f"{args.runs} runs\n")
    print("| | median ms | min - max of rounds | x unfused bound | reorders | reference | numpy |")
    print("|---|---|---|---|---|---|---|")
    for name, results in rounds.items():
        medians = [r["median"] for r in results]
        last = results[-1]
        print(f"| {name} | {median(medians):.2f} | {min(medians):.2f} - {max(medians):.2f} | "
              f"{median(medians) / base:.3f} | {last['reorders']} | {last['reference']} | "
              f"{last.get('numpy', 0)} |")


if __name__ == "__main__":
    main()
