"""Writes mxnet_images/: files of pictures, and what MXNet makes of them.
Run with the real MXNet 1.9.1 (with Pillow, OpenCV), from this folder: python make_mxnet_images.py
"""

import json
import pathlib
import sys
import tempfile
from typing import Any

import cv2
import mxnet as mx
import numpy as np

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from tests.image import golden, golden_augmented, pictures  # noqa: E402 - needs the path


def decoded(files: dict[str, bytes]) -> dict[str, Any]:
    made = {}
    for name, data in files.items():
        for flag in (0, 1):
            made[f"{name}/{flag}"] = mx.image.imdecode(data, flag=flag).asnumpy()
        whole = cv2.imdecode(np.frombuffer(data, np.uint8), -1)
        if whole.dtype == np.uint8:
            made[f"{name}/-1"] = whole
    return made


def changed() -> dict[str, Any]:
    return {golden.name_of(case): golden.run(mx, case).asnumpy() for case in golden.CASES}


def turned() -> dict[str, Any]:
    made = {}
    for turn in golden.TURNS:
        levels = cv2.cvtColor(pictures.drawn(), cv2.COLOR_RGB2HLS).astype(int) + turn
        levels = np.clip(levels, 0, (180, 255, 255)).astype(np.uint8)
        made[str(turn)] = cv2.cvtColor(levels, cv2.COLOR_HLS2RGB)
    return made


if __name__ == "__main__":
    golden.FOLDER.mkdir(exist_ok=True)
    files = pictures.files()
    for name, data in files.items():
        (golden.FOLDER / name).write_bytes(data)
    np.savez_compressed(golden.FOLDER / "decoded.npz", **decoded(files))
    np.savez_compressed(golden.FOLDER / "changed.npz", **changed())
    np.savez_compressed(golden.FOLDER / "turned.npz", **turned())
    np.savez_compressed(golden.FOLDER / "augmented.npz", **{
        name: np.float32(value) for name, value in golden_augmented.augmenters(mx).items()})
    with tempfile.TemporaryDirectory() as folder:
        golden_augmented.write_files(mx, pathlib.Path(folder))
        told = {"dumps": golden_augmented.dumps(mx),
                "iterators": golden_augmented.iterators(mx, pathlib.Path(folder))}
    lines = [f"{json.dumps(part)}: {json.dumps(told[part], sort_keys=True)}" for part in told]
    (golden.FOLDER / "told.json").write_text("{" + ",\n".join(lines) + "}\n")
