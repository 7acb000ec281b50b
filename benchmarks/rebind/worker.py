"""One process, one measurement: prints milliseconds as a JSON object."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import ndarray_rt as mx

from ..models import MODELS, Files


def measure(files: Files, batches: tuple[int, int], is_tuned: bool) -> dict[str, float]:
    """`first`: bind, weights, tuning if it is wanted, and a run at the first batch. `second`:
    `reshape` and a run at the other one; `reshape` and `steady` (a later run) are parts of it."""
    model = MODELS[files.model]
    symbol = mx.sym.load(str(files.symbol))
    params = mx.nd.load(str(files.params))
    kinds = {kind: {key[4:]: value for key, value in params.items() if key.startswith(kind)}
             for kind in ("arg:", "aux:")}
    data = [mx.nd.array(model.make_data(batch)) for batch in batches]

    begin = time.perf_counter()
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **model.shapes(batches[0]))
    executor.copy_params_from(kinds["arg:"], kinds["aux:"])
    if is_tuned:
        executor.tune()
    executor.forward(data=data[0])
    first = time.perf_counter() - begin
    for _ in range(3):
        executor.forward(data=data[0])

    begin = time.perf_counter()
    other = executor.reshape(allow_up_sizing=True, **model.shapes(batches[1]))
    reshape = time.perf_counter() - begin
    other.forward(data=data[1])
    second = time.perf_counter() - begin
    times: list[float] = []
    for _ in range(8):
        begin = time.perf_counter()
        other.forward(data=data[1])
        times.append(time.perf_counter() - begin)
    found: dict[str, Any] = {"first": first, "second": second, "reshape": reshape,
                             "steady": median(times[1:])}
    return {name: seconds * 1e3 for name, seconds in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--model", required=True, choices=list(MODELS))
    parser.add_argument("--batches", nargs=2, type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--tune", action="store_true")
    args = parser.parse_args()
    mx.set_num_threads(args.threads)
    print(json.dumps(measure(Files(args.folder, args.model), tuple(args.batches), args.tune)))


if __name__ == "__main__":
    main()
