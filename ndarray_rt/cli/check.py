"""Computes a model twice, step by step by NumPy and as it is usually run, and compares every
output. The exit code is 1 where they differ by more than allowed."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ..precision import Precision, find_precision
from .arguments import tolerance
from .inputs import add_input_arguments, inputs_of
from .model_file import Array, add_model_arguments, naive, open_model
from .output import busy, show_json, table

NAME, HELP = "check", "compare a usual run with NumPy's, output by output"
DIFFERENT = 1
# of an output's largest number; with bfloat16, of which each number is 2**-9 off
TOLERANCE, LOW_TOLERANCE = 1e-4, 0.05
RUNS = 3  # the third one is replayed from a recording


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_input_arguments(parser)
    parser.add_argument("--tolerance", type=tolerance, metavar="T",
                        help="of an output's largest number (default: "
                        f"{TOLERANCE:g}; {LOW_TOLERANCE:g} where layers compute in bfloat16)")


def run(given: argparse.Namespace) -> int:
    model = open_model(given)
    values = inputs_of(model, given)
    with naive(), busy("computing with NumPy"):
        expected = model.again().run(values)
    for _ in range(RUNS):
        got = model.run(values)
    allowed = given.tolerance
    if allowed is None:
        precision = find_precision(given.precision, "check")
        allowed = TOLERANCE if precision in (Precision.STRICT, Precision.FLOAT32) else LOW_TOLERANCE
    rows = [compare(slot.name, a, b, allowed)
            for slot, a, b in zip(model.outputs, expected, got, strict=True)]
    if given.json:
        show_json({"tolerance": allowed, "outputs": rows,
                   "equal": all(row["equal"] for row in rows)})
    else:
        print(table([("output", "shape", "largest", "difference", ""), *(
            (row["name"], tuple(row["shape"]), f"{row['largest']:.6g}",
             f"{row['difference']:.3g}", "equal" if row["equal"] else "DIFFERENT")
            for row in rows)], [2, 3]))
    return 0 if all(row["equal"] for row in rows) else DIFFERENT


def compare(name: str, expected: Array, got: Array, tolerance: float) -> dict[str, Any]:
    """An output of both runs: the largest number, the largest difference. What is not finite must
    be the same in both."""
    made: dict[str, Any] = {"name": name, "shape": list(got.shape), "largest": 0.0,
                            "difference": 0.0, "equal": True}
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return {**made, "difference": float("inf"), "equal": False}
    if expected.dtype.kind not in "fiub" or not expected.size:
        return {**made, "equal": bool(np.array_equal(expected, got))}
    a, b = expected.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    made["largest"] = float(np.abs(a[finite]).max(initial=0))
    made["difference"] = float(np.abs(a - b)[finite].max(initial=0))
    same = np.array_equal(a[~finite], b[~finite], equal_nan=True)
    made["equal"] = bool(same and made["difference"] <= tolerance * max(made["largest"], 1e-30))
    return made
