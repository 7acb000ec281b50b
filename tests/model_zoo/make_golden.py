"""Writes gluon.json. Run with the real MXNet 1.9.1: python make_golden.py

For each network of gluon's model zoo: a digest of its nodes (operator and name, in order) and of
its parameters (name and shape, in order), and the number of each.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Any

DENSENETS, VGGS, RESNETS = (121, 161, 169, 201), (11, 13, 16, 19), (18, 34, 50, 101, 152)
WIDTHS = (0.25, 0.5, 0.75, 1.0)
MODELS = ["alexnet", "inceptionv3", "squeezenet1.0", "squeezenet1.1",
          *[f"densenet{depth}" for depth in DENSENETS],
          *[f"vgg{depth}{end}" for depth in VGGS for end in ("", "_bn")],
          *[f"resnet{depth}_v{version}" for depth in RESNETS for version in (1, 2)],
          *[f"mobilenet{kind}{width}" for kind in ("", "v2_") for width in WIDTHS]]


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def describe(symbol: Any, size: int) -> dict[str, list[object]]:
    """What is compared of a network, for square images of a size."""
    nodes = [f"{node['op']} {node['name']}" for node in json.loads(symbol.tojson())["nodes"]
             if node["op"] != "null"]
    args, _, aux = symbol.infer_shape(data=(1, 3, size, size))
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    rows = [f"{name} {tuple(shape)}" for name, shape in zip(names, [*args, *aux], strict=True)]
    return {"nodes": [len(nodes), digest(nodes)], "parameters": [len(rows), digest(rows)]}


def main() -> None:
    import mxnet
    from mxnet.gluon.block import _BlockScope
    from mxnet.gluon.model_zoo.vision import get_model

    found = {}
    for name in MODELS:
        _BlockScope._current.value = None
        mxnet.name.NameManager._current.value = mxnet.name.NameManager()
        net = get_model(name)(mxnet.sym.Variable("data"))
        found[name] = describe(net, 299 if name == "inceptionv3" else 224)
    path = pathlib.Path(__file__).with_name("gluon.json")
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
