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
import numpy.typing as npt

from .models import MODELS, Files, Model
from .onnx_files import Inputs, read_inputs


@dataclass(frozen=True)
class Request:
    """What a runner is asked to load. `inputs`: the file of those of an ONNX file."""

    files: Files
    batch: int
    threads: int
    variant: str
    onnx: Path
    inputs: Path | None = None

    @property
    def model(self) -> Model:
        return MODELS[self.files.model]

    def feeds(self) -> tuple[Inputs, dict[str, int]]:
        """The inputs of the ONNX model, and sizes of its named dimensions."""
        if self.inputs is not None:
            return read_inputs(self.inputs)
        return {"data": self.model.make_data(self.batch)}, {"N": self.batch}


@dataclass(frozen=True)
class Loaded:
    """A model ready to run.

    `step` computes one output and waits for it, `output` gives it for NumPy, or a list of all,
    `facts` whatever else is worth a word.
    """

    step: Callable[[], object]
    output: Callable[[], Any]
    facts: Callable[[], dict[str, Any]] = field(default=dict)


def serve(import_framework: Callable[[Request], str], load: Callable[[Request], Loaded]) -> None:
    """Runs a runner to its end. `import_framework` returns the version."""
    answers = _take_standard_output()
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--variant", default="")
    parser.add_argument("--dump", type=Path, required=True, help="gets the output, as float32")
    parser.add_argument("--onnx", type=Path, help="the model, and with --inputs what it is fed")
    parser.add_argument("--inputs", type=Path)
    parser.add_argument("--cpu-time", action="store_true")
    args = parser.parse_args()
    files = Files(args.folder, args.model)
    request = Request(files, args.batch, args.threads, args.variant, args.onnx or files.onnx,
                      args.inputs)

    def say(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    start = time.perf_counter()
    version = import_framework(request)
    imported = time.perf_counter()
    loaded = load(request)
    bound = time.perf_counter()
    loaded.step()
    in_one(loaded.output()).tofile(args.dump)
    say({"version": version, "import_s": imported - start, "load_s": bound - imported,
         "cpu_s": time.process_time()})
    clock = time.process_time if args.cpu_time else time.perf_counter
    for line in sys.stdin:
        warmup, steps = map(int, line.split())
        for _ in range(warmup):
            loaded.step()
        say([_timed(loaded.step, clock) for _ in range(steps)])
    say(loaded.facts())
    # some frameworks hang in what they do at exit, and nothing is left to do
    os._exit(0)


def in_one(output: Any) -> npt.NDArray[np.float32]:
    """An output as float32; of a list the floats of all, or all when none has floats."""
    if not isinstance(output, list):
        return np.asarray(output, "<f4")
    arrays = [np.asarray(one) for one in output]
    floats = [one for one in arrays if one.dtype.kind == "f"] or arrays
    return np.concatenate([one.astype("<f4").ravel() for one in floats])


def _timed(step: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    step()
    return (clock() - start) * 1e3


def _take_standard_output() -> TextIO:
    """The real standard output; what is printed from now on goes to standard error."""
    real = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return real
