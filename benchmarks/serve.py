"""A runner's side of the conversation with the comparison.

A runner is a process that prints one JSON object in a line when it has its first result, then
answers each line "WARMUP STEPS" with the milliseconds of STEPS steps as a JSON list, and at the end
of its input prints a last JSON object: what it has to tell about itself. Everything else that its
framework prints goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .models import MODELS, Files, Model


@dataclass(frozen=True)
class Request:
    """What a runner is asked to load."""

    files: Files
    batch: int
    threads: int
    variant: str

    @property
    def model(self) -> Model:
        return MODELS[self.files.model]


@dataclass(frozen=True)
class Loaded:
    """A model ready to run.

    `step` computes one output and waits for it, `output` gives it for NumPy, `facts` whatever
    else is worth a word.
    """

    step: Callable[[], object]
    output: Callable[[], Any]
    facts: Callable[[], dict[str, Any]] = field(default=dict)


def serve(import_framework: Callable[[Request], str], load: Callable[[Request], Loaded]) -> None:
    """Runs a runner to its end. `import_framework` returns the version."""
    answers = _take_standard_output()
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--model", choices=list(MODELS), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--variant", default="")
    parser.add_argument("--dump", type=Path, required=True, help="gets the output, as float32")
    args = parser.parse_args()
    request = Request(Files(args.folder, args.model), args.batch, args.threads, args.variant)

    def say(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    start = time.perf_counter()
    version = import_framework(request)
    imported = time.perf_counter()
    loaded = load(request)
    bound = time.perf_counter()
    loaded.step()
    np.asarray(loaded.output(), "<f4").tofile(args.dump)
    say({"version": version, "import_s": imported - start, "load_s": bound - imported,
         "cpu_s": time.process_time()})
    for line in sys.stdin:
        warmup, steps = map(int, line.split())
        for _ in range(warmup):
            loaded.step()
        say([_timed(loaded.step) for _ in range(steps)])
    say(loaded.facts())
    # some frameworks hang in what they do at exit, and nothing is left to do
    os._exit(0)


def _timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return (time.perf_counter() - start) * 1e3


def _take_standard_output() -> TextIO:
    """The real standard output; what is printed from now on goes to standard error."""
    real = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return real
