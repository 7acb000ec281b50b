"""Iterators over image records as MXNet 1.9.1 has them (make_mxnet_image_records.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx

from . import golden_augmented, golden_records

pytest.importorskip("PIL")
FOLDER = golden_augmented.FOLDER.parent / "mxnet_image_records"
TOLD = json.loads((FOLDER / "told.json").read_text())
FIRST = np.load(FOLDER / "first.npz")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("records")
    golden_augmented.write_files(mx, made)
    return made


@pytest.mark.parametrize("name", golden_records.ITERATORS)
def test_labels_and_pads(name: str, folder: Path) -> None:
    for threads in (1, 3):
        found = golden_augmented.passes(
            golden_records.make(mx, folder, name, preprocess_threads=threads), 3)
        assert len(found) == len(TOLD[name])
        for epoch, (ours, theirs) in enumerate(zip(found, TOLD[name], strict=True)):
            assert len(ours) == len(theirs)
            for (_, label, pad), (expected, their_pad) in zip(ours, theirs, strict=True):
                # MXNet leaves what was there in rows that are not filled, and calls their pad 0
                rest = len(label) - pad if name == "not round" else len(label)
                # later its batches may have a pad that was another one's
                assert pad == their_pad or name == "not round" or epoch > 0
                np.testing.assert_allclose(label[:rest], np.asarray(expected)[:rest], atol=1e-6)


@pytest.mark.parametrize("name", golden_records.ITERATORS)
def test_images(name: str, folder: Path) -> None:
    iterator = golden_records.make(mx, folder, name)
    data = next(iterator).data[0].asnumpy()
    expected = FIRST[name]
    assert data.dtype == expected.dtype
    assert data.shape == expected.shape
    difference = np.abs(data.astype(np.float64) - expected)
    assert difference.max() <= 1.01
    assert (difference > 0.6).mean() < 0.05
