"""Measures how long a run takes, on random inputs; with --compare beside other runtimes, which must
be installed, all in turn."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from ..errors import MissingPackage, ParameterError
from .arguments import positive
from .inputs import add_input_arguments, inputs_of
from .model_file import ONNX, Array, Model, add_model_arguments, open_model
from .output import progress, shape_text, show_json, table

NAME, HELP = "bench", "measure a model, also beside other runtimes"
OURS = "ndarray_rt"
Run = Callable[[Mapping[str, Array]], Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_input_arguments(parser)
    parser.add_argument("--runs", type=positive, default=50, help="of each (default: 50)")
    parser.add_argument("--compare", metavar="A,B", default="",
                        help=f"other runtimes, for ONNX files: {', '.join(PEERS)}")


def run(given: argparse.Namespace) -> int:
    model = open_model(given)
    values = inputs_of(model, given)
    shapes = {name: value.shape for name, value in values.items()}
    from ..threads import get_num_threads
    threads = get_num_threads()
    runs: dict[str, Run] = {OURS: model.run, **_peers(model, given.compare, threads)}
    times = measure(runs, values, given.runs)
    ours = median(times[OURS])
    batch = next((shape[0] for shape in shapes.values() if shape), 1)
    found = {"shapes": {name: list(shape) for name, shape in shapes.items()}, "threads": threads,
             "runs": given.runs, "results": [
                 {"runtime": name, "median_ms": median(of) * 1e3, "least_ms": min(of) * 1e3,
                  "samples_per_second": batch / median(of), "ratio": median(of) / ours}
                 for name, of in times.items()]}
    if given.json:
        show_json(found)
    else:
        print(_text(found))
    return 0


def measure(runs: Mapping[str, Run], values: Mapping[str, Array],
            count: int) -> dict[str, list[float]]:
    """Seconds of each run; all in turn, so that other work on the machine strikes each of them."""
    for one in runs.values():
        for _ in range(3):  # the third is what all later ones are
            one(values)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in progress(range(count), "runs", count):
        for name, one in runs.items():
            start = time.perf_counter()
            one(values)
            times[name].append(time.perf_counter() - start)
    return times


def _text(found: Mapping[str, Any]) -> str:
    shapes = ", ".join(f"{name} {shape_text(shape)}" for name, shape in found["shapes"].items())
    rows = [("", "median ms", "least ms", "samples/s", f"times {OURS}'s")]
    rows += [(row["runtime"], f"{row['median_ms']:.3f}", f"{row['least_ms']:.3f}",
              f"{row['samples_per_second']:.1f}", f"{row['ratio']:.2f}")
             for row in found["results"]]
    return (f"{shapes}; {found['threads']} thread(s), {found['runs']} runs each\n"
            + table(rows, [1, 2, 3, 4]))


# ---- other runtimes ----------------------------------------------------------------------------


def _onnxruntime(path: str, threads: int) -> Run:
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda values: session.run(None, dict(values))


def _openvino(path: str, threads: int) -> Run:
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(path, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"})
    return lambda values: compiled(dict(values))


PEERS: dict[str, Callable[[str, int], Run]] = {"onnxruntime": _onnxruntime, "openvino": _openvino}


def _peers(model: Model, names: str, threads: int) -> dict[str, Run]:
    found: dict[str, Run] = {}
    for name in filter(None, names.split(",")):
        if name not in PEERS:
            raise ParameterError(f"--compare got {name!r}, expected some of: {', '.join(PEERS)}")
        if model.kind != ONNX:
            raise ParameterError(f"--compare: {name} reads ONNX files, this is a model of "
                                 f"{model.kind}'s")
        try:
            found[name] = PEERS[name](model.files[0], threads)
        except ImportError:
            raise MissingPackage(f"--compare: {name} is not installed here") from None
    return found
