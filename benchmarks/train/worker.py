"""One front end's process: answers each line "WARMUP STEPS" with milliseconds a step."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from typing import Any

from .tasks import TASKS

FIRST_STEPS = 3


def load(framework: str, how: str, model: str, batch: int, threads: int) -> tuple[str, Any, Any]:
    """(version, a step, the loss of the last one)."""
    if framework == "torch":
        import torch

        from . import pytorch
        torch.set_num_threads(threads)
        return torch.__version__, *pytorch.load(how, model, batch)
    from . import mxnet
    mx: Any = importlib.import_module("ndarray_rt" if framework == "ours" else "mxnet")
    return mx.__version__, *mxnet.load(mx, how, model, batch)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True, help="FRAMEWORK:FRONT_END")
    parser.add_argument("--model", required=True, choices=list(TASKS))
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    args = parser.parse_args()

    def say(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    framework, _, how = args.runner.partition(":")
    version, step, last_loss = load(framework, how, args.model, args.batch, args.threads)
    losses = []
    for _ in range(FIRST_STEPS):
        step()
        losses.append(last_loss())
    say({"version": version, "losses": losses})
    for line in sys.stdin:
        warmup, steps = map(int, line.split())
        times = []
        for number in range(warmup + steps):
            begin = time.perf_counter()
            step()
            if number >= warmup:
                times.append((time.perf_counter() - begin) * 1e3)
        say(times)
    say({"loss": last_loss()})
    os._exit(0)


if __name__ == "__main__":
    main()
