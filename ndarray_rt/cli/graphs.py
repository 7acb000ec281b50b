"""Whole models in another format: MXNet's pair of files as an ONNX file, and back."""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from ..errors import ShapeError, Unsupported
from .inputs import input_shapes
from .model_file import find_pair, regular
from .output import note, show_json

SYMBOL = "-symbol.json"


def is_model(path: str) -> bool:
    """The path names a symbol with its parameters beside it."""
    if match := re.fullmatch(r"(.*)-\d{4}\.params", path):
        return os.path.exists(f"{match[1]}{SYMBOL}")
    return path.endswith(".json") or os.path.exists(f"{path}{SYMBOL}")


def to_onnx(given: argparse.Namespace) -> int:
    """Writes the ONNX model of a pair of files, of any batch size where the graph allows it."""
    from ..onnx.exporter.model_file import export
    from .mxnet_model import MXNetModel
    model = MXNetModel(*find_pair(given.source, None))
    given.batch = None
    shapes = input_shapes(model, given, model.inputs)
    types = {slot.name: slot.dtype for slot in model.inputs if slot.dtype is not None}

    def written(sizes: dict[str, tuple[Any, ...]]) -> Any:
        return export(model.files[0], model.files[1], given.target, shapes=sizes, dtypes=types,
                      opset=given.opset)
    try:
        made = written({name: (None, *shape[1:]) for name, shape in shapes.items()})
    except (ShapeError, Unsupported):
        made = written(dict(shapes))
        note("the model is for this batch size alone: its graph goes with no other")
    operators = len(made.graph.node)
    if given.json:
        show_json({"written": given.target, "nodes": operators, "opset": given.opset,
                   "inputs": {name: list(shape) for name, shape in shapes.items()}})
    else:
        print(f"written: {given.target}: {operators} nodes of ONNX's operator set {given.opset}")
    return 0


def from_onnx(given: argparse.Namespace) -> int:
    """Writes an ONNX model that is one graph as NAME-symbol.json and NAME-0000.params."""
    from ..model import save_checkpoint
    from ..onnx.as_symbol import as_symbol
    regular(given.source)
    made = as_symbol(given.source)
    prefix = given.target.removesuffix(SYMBOL)
    save_checkpoint(prefix, 0, made.symbol, made.args, made.aux)
    files = [given.target, f"{prefix}-0000.params"]
    count = len(made.args) + len(made.aux)
    if given.json:
        show_json({"written": files, "arrays": count})
    else:
        print(f"written: {', '.join(files)}: {count} arrays")
    return 0
