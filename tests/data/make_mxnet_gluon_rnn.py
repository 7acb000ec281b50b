"""Writes mxnet_gluon_rnn/. Run with the real MXNet 1.9.1: python make_mxnet_gluon_rnn.py

answers.npz: all numbers of the cells and layers of tests/gluon/rnn/cases.py, convolutional.npz:
those of cells of contrib.rnn. names.json: names of their parameters and of the nodes of their
graphs.
"""

import importlib.util
import json
import pathlib
from typing import Any

import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
OUT = HERE / "mxnet_gluon_rnn"


def read_cases() -> Any:
    spec = importlib.util.spec_from_file_location("cases", HERE.parent / "gluon/rnn/cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    cases = read_cases()
    OUT.mkdir(exist_ok=True)
    arrays = {}
    for name in cases.CELLS:
        for has_lengths in (False, True):
            for key, value in cases.run_cell(mx, name, has_lengths, False).items():
                arrays[f"cell.{name}.{has_lengths}.{key}"] = value
    for name in cases.LAYERS:
        for key, value in cases.run_layer(mx, name, False).items():
            arrays[f"layer.{name}.{key}"] = value
    np.savez_compressed(OUT / "answers.npz", **arrays)
    np.savez_compressed(OUT / "convolutional.npz", **{
        f"{name}.{key}": value for name in cases.CONVOLUTIONAL
        for key, value in cases.run_convolutional(mx, name, False).items()})
    (OUT / "names.json").write_text(json.dumps(cases.names(mx), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
