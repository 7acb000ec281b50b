"""Writes mxnet_training/. Run with the real MXNet 1.9.1: python make_mxnet_training.py

lenet.npz: for each way of tests/training/golden.py what it gives. resnet18.npz: the same for gluon,
with MXNet's oneDNN and (off) without it, which a process of its own computes.

All with MXNet's naive engine: with the other one modules that use oneDNN give other numbers from
run to run.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

os.environ["MXNET_ENGINE_TYPE"] = "NaiveEngine"
import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
OUT = HERE / "mxnet_training"
SWITCH = "MXNET_MKLDNN_ENABLED"


def read_golden() -> Any:
    spec = importlib.util.spec_from_file_location("golden", HERE.parent / "training" / "golden.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_onednn() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "off.npz")
        subprocess.run([sys.executable, __file__, path], check=True,
                       env={**os.environ, SWITCH: "0"})
        with np.load(path) as data:
            return {f"off.{name}": value for name, value in data.items()}


def main() -> None:
    golden = read_golden()
    if len(sys.argv) == 2:
        np.savez(sys.argv[1], **golden.gluon(mx, golden.RESNET))
        return
    OUT.mkdir(exist_ok=True)
    lenet = {f"{door}.{name}": value for door, run in golden.DOORS.items()
             for name, value in run(mx, golden.LENET).items()}
    np.savez_compressed(OUT / "lenet.npz", **lenet)
    on = {f"on.{name}": value for name, value in golden.gluon(mx, golden.RESNET).items()}
    np.savez_compressed(OUT / "resnet18.npz", **on, **without_onednn())


if __name__ == "__main__":
    main()
