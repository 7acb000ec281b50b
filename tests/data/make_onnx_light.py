"""Writes tests/data/onnx_light.npz: ONNX Runtime's answers of light networks with drawn weights.

    python tests/data/make_onnx_light.py      # with onnx and onnxruntime installed
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx.backend.test.loader import DATA_DIR

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

# ruff: noqa: E402 - the weights stand with the benchmarks
from benchmarks.light import drawn_input, with_weights

made = {}
for path in sorted((Path(DATA_DIR) / "light").glob("*.onnx")):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        with_weights(path).SerializeToString(), options)
    given = session.get_inputs()[0]
    made[path.stem], = session.run(None, {given.name: drawn_input(given.shape)})
np.savez_compressed(HERE / "onnx_light.npz", **made)
