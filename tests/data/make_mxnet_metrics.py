"""Writes mxnet_metrics.json: what metrics say of batches that tests make the same way
(tests/metric/golden.py). Run with the real MXNet 1.9.1, from this folder:
python make_mxnet_metrics.py
"""

import json
import pathlib
import sys

import mxnet as mx

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from tests.metric import golden  # noqa: E402 - needs the path

if __name__ == "__main__":
    lines = [f"{json.dumps(golden.name_of(case))}: {json.dumps(golden.run(mx, case))}"
             for case in golden.CASES]
    (FOLDER / "mxnet_metrics.json").write_text("{" + ",\n".join(lines) + "}\n")
