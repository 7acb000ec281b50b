"""Shows each step of a run: the kernel, layouts, reorders and measured time."""

from __future__ import annotations

import argparse
import os

from ..errors import MXNetError, ParameterError
from .inputs import add_input_arguments, inputs_of
from .model_file import add_model_arguments, open_model
from .output import busy, show_json

NAME, HELP = "explain", "what each step of a run does"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_input_arguments(parser)
    parser.add_argument("--html", metavar="FILE", help="a page with a picture of the graph; "
                        "several, FILE-2.html and so on, where a model runs in several graphs")


def run(given: argparse.Namespace) -> int:
    model = open_model(given)
    if given.html is not None and not given.html.endswith(".html"):
        raise ParameterError(f"--html {given.html!r} does not end in .html")
    values = inputs_of(model, given)
    with busy("measuring each step"):
        found = model.explain(values)
    if not found:
        raise MXNetError("there is no graph to explain: all of the model is computed when it is "
                         "loaded")
    written = []
    for i, explanation in enumerate(found, 1):
        if given.html is not None:
            base, ending = os.path.splitext(given.html)
            written.append(given.html if i == 1 else f"{base}-{i}{ending}")
            try:
                explanation.save(written[-1])
            except OSError as error:
                raise MXNetError(f"writing {written[-1]!r}: {error.strerror or error}") from None
    if given.json:
        show_json({"graphs": [explanation.as_dict() for explanation in found],
                   "written": written})
    elif written:
        print("\n".join(f"written: {path}" for path in written))
    else:
        print("\n\n".join(str(explanation) for explanation in found))
    return 0
