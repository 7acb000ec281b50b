"""What the golden symbol files hold, and the package as their builders want it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ndarray_rt import attribute, name, sym
from ndarray_rt.op.registry import REGISTRY
from ndarray_rt.symbol import NameManager, Symbol

FOLDER = Path(__file__).parent.parent / "data" / "mxnet_json"


def _builders() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("golden_symbols", FOLDER / "symbols.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {make.__name__: make for make in module.SYMBOLS}


BUILDERS = _builders()


def runnable(file: str) -> bool:
    """All operators of a golden file are registered."""
    nodes = json.loads((FOLDER / file).read_text(encoding="utf-8"))["nodes"]
    return all(node["op"] == "null" or node["op"] in REGISTRY for node in nodes)


NAMES = sorted(name for name in BUILDERS if runnable(f"{name}.json"))
PACKAGE = SimpleNamespace(sym=sym, name=name, AttrScope=attribute.AttrScope)


def build(which: str) -> Symbol:
    """The symbol made with this package, under a name manager of its own."""
    with NameManager():
        made, _ = BUILDERS[which](PACKAGE)
    assert isinstance(made, Symbol)
    return made


def text(file: str) -> str:
    return (FOLDER / file).read_text(encoding="utf-8")


def answers(which: str) -> dict[str, Any]:
    """What MXNet says of the symbol."""
    found: dict[str, Any] = json.loads(text(f"{which}.answers.json"))
    return found
