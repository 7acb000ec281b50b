"""The nine light networks of the onnx package with drawn weights, beside ONNX Runtime's answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx.backend.test.loader import DATA_DIR

from benchmarks.light import drawn_input, with_weights
from ndarray_rt.onnx import load

GOLDEN = Path(__file__).parent.parent / "data" / "onnx_light.npz"
NAMES = sorted(path.stem for path in (Path(DATA_DIR) / "light").glob("*.onnx"))


@pytest.mark.sampled(3, "whole networks")
@pytest.mark.parametrize("name", NAMES)
def test_equals_onnx_runtime(name: str) -> None:
    """Planned, recorded and replayed."""
    model = load(with_weights(Path(DATA_DIR) / "light" / f"{name}.onnx"))
    x = drawn_input(model.inputs[0].shape)
    expected = np.load(GOLDEN)[name]
    for _ in range(3):
        made, = model(x)
        assert np.abs(made - expected).max() <= 1e-4 * np.abs(expected).max()
    assert [segment.executor.capture_state for segment in model._used((), {}).segments()] == [
        "captured"]


def test_there_are_nine() -> None:
    assert len(NAMES) == 9
    assert set(np.load(GOLDEN).files) == set(NAMES)
