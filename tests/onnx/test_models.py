"""Real models with stored outputs of ONNX Runtime; NDRT_MODELS names the folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndarray_rt.onnx import InferenceSession, load

FOLDER = os.environ.get("NDRT_MODELS", "")
CASES = {"ocr_cls": ("b1", "b6"), "filetype_magika": ("b1", "b5"), "captcha_yolox": ("416",)}
TOLERANCE = {"ocr_cls": 1e-4, "filetype_magika": 1e-4, "captcha_yolox": 1e-3}

needs_models = pytest.mark.skipif(
    not FOLDER, reason="NDRT_MODELS does not name the folder of the models")


def calls(name: str, case: str) -> list[tuple[dict[str, Any], list[Any]]]:
    """Inputs by name and outputs of each call of a case."""
    data = np.load(Path(FOLDER) / f"{name}.{case}.npz")
    made = []
    for i in range(2):
        inputs = {key.split("/", 1)[1]: data[key] for key in data.files if key.startswith(f"i{i}/")}
        if inputs:
            outputs = sorted((key for key in data.files if key.startswith(f"o{i}/")),
                             key=lambda key: int(key.split("/")[1]))
            made.append((inputs, [data[key] for key in outputs]))
    return made


def assert_near(got: list[Any], expected: list[Any], tolerance: float) -> None:
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


@needs_models
@pytest.mark.parametrize("name", CASES)
def test_equals_onnx_runtime(name: str) -> None:
    """At each batch size in turn, planned, recorded and replayed."""
    model = load(Path(FOLDER) / f"{name}.onnx")
    for _ in range(3):
        for case in CASES[name]:
            for inputs, outputs in calls(name, case):
                assert_near(model(inputs), outputs, TOLERANCE[name])


@needs_models
def test_session_of_bytes() -> None:
    session = InferenceSession((Path(FOLDER) / "ocr_cls.onnx").read_bytes())
    (inputs, outputs), = calls("ocr_cls", "b1")
    assert [info.name for info in session.get_inputs()] == list(inputs)
    assert_near(session.run(None, inputs), outputs, 1e-4)
