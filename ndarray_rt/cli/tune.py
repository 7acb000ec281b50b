"""Chooses layouts and kernels by measuring, and keeps what was found in a file for later processes:
NDRT_TUNING=FILE lets them use it."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ..executor.tuning.file import save_tuning
from .inputs import add_input_arguments, inputs_of
from .model_file import add_model_arguments, open_model, regular
from .output import busy, show_json

NAME, HELP = "tune", "choose layouts and kernels by measuring"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_input_arguments(parser)
    parser.add_argument("--output", metavar="FILE", help="where to keep what was found; a file "
                        "that is there already gets it in addition")


def run(given: argparse.Namespace) -> int:
    model = open_model(given)
    values = inputs_of(model, given)
    if given.output is not None:
        _take_in(given.output)
    with busy("measuring"):
        found = model.tune(values)
    if given.output is not None:
        save_tuning(given.output)
    if given.json:
        show_json({"graphs": [asdict(tuned) for tuned in found], "written": given.output})
    else:
        print("\n\n".join(str(tuned) for tuned in found) or "nothing to tune")
        if given.output is not None:
            print(f"written: {given.output}; use it with NDRT_TUNING={given.output}")
    return 0


def _take_in(path: str) -> None:
    import os
    if os.path.exists(path):
        regular(path)
        from ..executor.tuning.file import load_tuning
        load_tuning(path)
