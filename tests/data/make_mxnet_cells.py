"""Writes mxnet_cells/. Run with the real MXNet 1.9.1: python make_mxnet_cells.py

answers.npz: all numbers of the symbolic cells of tests/rnn/cases.py, and their weights unpacked.
graphs.json: their graphs.
"""

import importlib.util
import json
import pathlib
from typing import Any

import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
OUT = HERE / "mxnet_cells"


def read_cases() -> Any:
    spec = importlib.util.spec_from_file_location("cases", HERE.parent / "rnn/cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    cases = read_cases()
    OUT.mkdir(exist_ok=True)
    arrays, graphs = {}, {}
    for name in cases.CELLS:
        graphs[name] = cases.graph(mx, name, "free")
        for how in cases.ways(name):
            for key, value in cases.run(mx, name, how).items():
                arrays[f"{name}.{how}.{key}"] = value
        if not name.startswith("conv"):
            for key, value in cases.unpacked(mx, name).items():
                arrays[f"{name}.unpacked.{key}"] = value
    np.savez_compressed(OUT / "answers.npz", **arrays)
    (OUT / "graphs.json").write_text(json.dumps(graphs) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
