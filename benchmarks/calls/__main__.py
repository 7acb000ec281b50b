"""What forward() costs above a C loop over the same plan: python -m benchmarks.calls --threads 1

Microseconds of one call: the loop in C, forward(), forward(data=x), in turns of some hundred calls
each. `above` is the median over rounds of the difference, with least and most of a round.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.native import ffi, lib

from ..options import positive
from ..runner import CACHE

SOURCE = Path(__file__).with_name("loop.c")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]


def build(folder: Path = CACHE) -> Any:
    """The function of loop.c."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "calls-loop.so"
    compiler = shlex.split(os.environ.get("CC", "gcc"))
    subprocess.run([*compiler, *FLAGS, str(SOURCE), "-o", str(library)], check=True)
    run_often = ctypes.CDLL(str(library)).run_often
    run_often.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    run_often.restype = ctypes.c_double
    return run_often


def dense_chain() -> mx.sym.Symbol:
    """100 layers of 4 numbers, each with a weight and a bias."""
    net = mx.sym.Variable("data")
    for i in range(100):
        net = mx.sym.FullyConnected(net, num_hidden=4, name=f"fc{i}")
    return net


def elementwise_chain() -> mx.sym.Symbol:
    """100 elementwise operators, which are fewer steps when they are planned."""
    net = mx.sym.Variable("data")
    for i in range(50):
        net = mx.sym.tanh(net) + 0.01 * i
    return net


CASES: dict[str, tuple[Callable[[], mx.sym.Symbol], tuple[int, ...]]] = {
    "mlp": (lambda: mx.model_zoo.symbols.get_symbol("mlp"), (1, 784)),
    "dense": (dense_chain, (1, 4)),
    "elementwise": (elementwise_chain, (1, 4)),
}


class Case:
    """A bound executor that replays, and the ways of running it."""

    def __init__(self, name: str, run_often: Any) -> None:
        symbol, shape = CASES[name]
        numbers = np.random.default_rng(0)
        self.data = mx.nd.array(numbers.standard_normal(shape).astype("f4"))
        self.executor = symbol().simple_bind(mx.cpu(), grad_req="null", data=shape)
        for array in self.executor.arg_arrays:
            array[:] = numbers.uniform(-0.1, 0.1, array.shape)
        for _ in range(5):
            self.executor.forward(data=self.data)
        program = self.executor._runs.program_for(False)
        captured = program.forward_capture().captured
        if captured is None:
            sys.exit(f"{name} is not captured: {self.executor.capture_state}")
        self._run_often = run_often
        self._run = int(ffi.cast("intptr_t", ffi.addressof(lib, "ndrt_plan_run")))
        self._plan = int(ffi.cast("intptr_t", captured._recording.native_plan()))

    def loop(self, calls: int) -> float:
        """Seconds of the loop in C."""
        found = float(self._run_often(self._run, self._plan, calls))
        if found < 0:
            sys.exit("a run of the plan failed")
        return found

    def forward(self, calls: int) -> float:
        """Seconds of forward()."""
        forward = self.executor.forward
        begin = time.perf_counter()
        for _ in repeat(None, calls):
            forward()
        return time.perf_counter() - begin

    def forward_data(self, calls: int) -> float:
        """Seconds of forward(data=x)."""
        forward, data = self.executor.forward, self.data
        begin = time.perf_counter()
        for _ in repeat(None, calls):
            forward(data=data)
        return time.perf_counter() - begin


def measure(case: Case, rounds: int, calls: int) -> str:
    """The cells of a row."""
    ways = (case.loop, case.forward, case.forward_data)
    times: list[list[float]] = []
    for _ in range(rounds + 1):
        times.append([way(calls) * 1e6 / calls for way in ways])
    loop, *others = zip(*times[1:], strict=True)
    cells = [f"{median(loop):.2f}"]
    for other in others:
        above = [a - b for a, b in zip(other, loop, strict=True)]
        cells.append(f"{median(above):.2f} ({min(above):.2f} to {max(above):.2f})")
    return " | ".join(cells)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.calls", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--threads", nargs="+", type=positive, default=[1])
    parser.add_argument("--rounds", type=positive, default=101)
    parser.add_argument("--calls", type=positive, default=300, help="in each turn")
    args = parser.parse_args(argv)
    run_often = build()
    print("| case | threads | loop in C, us | forward() above | forward(data=x) above |")
    print("|---" * 5 + "|")
    for threads in args.threads:
        mx.set_num_threads(threads)
        for name in args.cases:
            cells = measure(Case(name, run_often), args.rounds, args.calls)
            print(f"| {name} | {threads} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
