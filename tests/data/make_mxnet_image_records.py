"""Writes mxnet_image_records/: passes of MXNet's iterators over image records.
Run with the real MXNet 1.9.1 (with Pillow), from this folder: python make_mxnet_image_records.py
"""

import json
import pathlib
import sys
import tempfile

import mxnet as mx
import numpy as np

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from tests.image import golden_augmented, golden_records  # noqa: E402 - needs the path

if __name__ == "__main__":
    made = FOLDER / "mxnet_image_records"
    made.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        golden_augmented.write_files(mx, folder)
        told = golden_records.told(mx, folder)
        np.savez_compressed(made / "first.npz", **golden_records.first(mx, folder))
    lines = [f"{json.dumps(part)}: {json.dumps(told[part])}" for part in told]
    (made / "told.json").write_text("{" + ",\n".join(lines) + "}\n")
