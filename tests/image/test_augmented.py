"""Augmenters and iterators over images as MXNet 1.9.1 has them, draw by draw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

from . import golden_augmented as golden

pytest.importorskip("PIL")
AUGMENTED = np.load(golden.FOLDER / "augmented.npz")
TOLD = json.loads((golden.FOLDER / "told.json").read_text())


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return golden.augmenters(mx)


@pytest.mark.parametrize("name", AUGMENTED.files)
def test_augmenters(name: str, made: dict[str, Any]) -> None:
    expected = AUGMENTED[name]
    assert made[name].shape == expected.shape
    if name.endswith("label"):
        np.testing.assert_allclose(made[name], expected, atol=1e-6)
    else:
        # bytes are resized first and may be one level beside MXNet's there
        level = 1.6 if "/" in name and name[0].islower() else 1e-3
        assert np.abs(made[name].astype(np.float32) - expected).max() <= level


def test_dumps() -> None:
    assert golden.dumps(mx) == TOLD["dumps"]


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("images")
    golden.write_files(mx, folder)
    return golden.iterators(mx, folder)


@pytest.mark.parametrize("name", TOLD["iterators"])
def test_iterators(name: str, batches: dict[str, Any]) -> None:
    expected = TOLD["iterators"][name]
    found = batches[name]
    assert [[pad for _, _, pad in one] for one in found] == \
        [[pad for _, _, pad in one] for one in expected]
    for one, other in zip(found, expected, strict=True):
        for (mean, label, _), (their_mean, their_label, _) in zip(one, other, strict=True):
            np.testing.assert_allclose(label, their_label, atol=1e-6)
            assert abs(mean - their_mean) < 0.2
