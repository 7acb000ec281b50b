"""One framework's process: answers each line "CASE WARMUP STEPS" with milliseconds a call."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from .cases import SETS


def start(framework: str, threads: int) -> tuple[str, Callable[[Any], Any]]:
    """(version, what loads a case)."""
    if framework == "torch":
        import torch

        from . import pytorch
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        return torch.__version__, lambda case: pytorch.load(torch, case)
    from . import ours
    mx: Any = importlib.import_module("ndarray_rt" if framework == "ours" else "mxnet")
    return mx.__version__, lambda case: ours.load(mx, case)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--framework", required=True)
    parser.add_argument("--set", required=True, choices=list(SETS))
    parser.add_argument("--threads", type=int, required=True)
    args = parser.parse_args()

    def say(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    version, load = start(args.framework, args.threads)
    say({"version": version})
    loaded: tuple[int, Any] = (-1, None)
    for line in sys.stdin:
        number, warmup, steps = map(int, line.split())
        case = SETS[args.set][number]
        if loaded[0] != number:
            loaded = (-1, None)
            loaded = (number, load(case))
        repeat, wait = loaded[1]
        times = []
        for step in range(warmup + steps):
            wait()
            begin = time.perf_counter()
            repeat(case.calls)
            if case.calls == 1:
                wait()
            if step >= warmup:
                times.append((time.perf_counter() - begin) * 1e3 / case.calls)
        wait()
        say(times)
    say({})
    os._exit(0)


if __name__ == "__main__":
    main()
