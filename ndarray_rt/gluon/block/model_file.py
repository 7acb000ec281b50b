"""`Block.save` and `Block.load`: names and graphs in JSON, values in a .params file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import ModelFormatError
from ...symbol import load_json
from ...symbol.graph_json import write_file
from ...symbol.json_text import parse_json, read_json_bytes
from .hybrid_block import HybridBlock

if TYPE_CHECKING:
    from .block import Block


def save(block: Block, prefix: str) -> None:
    """Writes `<prefix>-model.json` and `<prefix>-model.params`."""
    model: dict[str, Any] = {}
    _describe(block, [0], model)
    write_file(f"{prefix}-model.json", json.dumps(model))
    block.save_parameters(f"{prefix}-model.params")


def load(block: Block, prefix: str) -> None:
    """Gives a block the names, graphs and values that `save` wrote.

    MXNetError when a file can not be read, ModelFormatError when it is damaged, or written of a
    block of another structure.
    """
    path = f"{prefix}-model.json"
    model = parse_json(read_json_bytes(path, path), path)
    try:
        _restore(block, [0], model)
    except (KeyError, TypeError) as error:
        raise ModelFormatError(f"it describes a block of another structure than {block.name!r}: "
                               f"{error} is not there", path) from None
    block.load_parameters(f"{prefix}-model.params")


def _key(block: Block, index: list[int]) -> str:
    """Classes with numbers in the order of a walk; they are the same for equal structures."""
    return f"{type(block).__name__.lower()}{index[0]}"


def _describe(block: Block, index: list[int], structure: dict[str, Any]) -> None:
    model: dict[str, Any] = {"orig_name": block.name}
    structure[_key(block, index)] = model
    if isinstance(block, HybridBlock):
        model["hybridized"] = bool(block._cached_graph)
        if block._cached_graph:
            inputs, out = block._cached_graph
            model["in_format"] = block._in_format
            model["out_format"] = block._out_format
            model["inputs"] = [symbol.tojson() for symbol in inputs]
            model["symbol"] = out.tojson()
    children: dict[str, str] = {}
    model["children"] = children
    for name, child in block._children.items():
        index[0] += 1
        children[child.name] = name
        _describe(child, index, model)


def _restore(block: Block, index: list[int], structure: dict[str, Any]) -> None:
    model = structure[_key(block, index)]
    before = block.params.prefix
    block._name = model["orig_name"]
    if isinstance(block, HybridBlock) and model["hybridized"]:
        block._in_format, block._out_format = model["in_format"], model["out_format"]
        block._cached_graph = ([load_json(text) for text in model["inputs"]],
                               load_json(model["symbol"]))
        block._active = True
    params = block.params._params
    # the graph knows parameters by the names that they had
    for name in list(params):
        param = params.pop(name)
        param.name = f"{block.name}_{name[len(before):]}"
        params[param.name] = param
    for child in block._children.values():
        index[0] += 1
        _restore(child, index, model)
    renamed = {model["children"][child.name]: child for child in block._children.values()}
    block._children.clear()
    block._children.update(renamed)
