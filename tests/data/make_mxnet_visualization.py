"""Writes mxnet_visualization.json: MXNet's tables and drawings of the graphs that tests make the
same way (tests/tools/golden.py). Run with the real MXNet 1.9.1, from this folder:
python make_mxnet_visualization.py
"""

import json
import pathlib
import sys

import mxnet as mx

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from tests.tools import golden  # noqa: E402 - needs the path

if __name__ == "__main__":
    found = {name: golden.pictures(mx, name) for name in golden.SHAPES}
    (FOLDER / "mxnet_visualization.json").write_text(json.dumps(found, indent=1) + "\n")
