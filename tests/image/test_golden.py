"""Images as MXNet 1.9.1 reads and changes them (tests/data/make_mxnet_images.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import recordio
from ndarray_rt.io.image_augment import shifted_hls

from . import golden
from .pictures import drawn, files

pytest.importorskip("PIL")
DECODED = np.load(golden.FOLDER / "decoded.npz")
CHANGED = np.load(golden.FOLDER / "changed.npz")
# weights of pixels are single precision
ONE_LEVEL = {"uint8": 1, "int32": 0, "float32": 1e-4, "float64": 1e-4}


@pytest.mark.parametrize("name", DECODED.files)
def test_files(name: str) -> None:
    file, _, flag = name.partition("/")
    data = (golden.FOLDER / file).read_bytes()
    if flag == "-1":
        # what cv2 makes of it, blue first
        made = recordio.unpack_img(recordio.pack((0, 0, 0, 0), data), -1)[1]
    else:
        made = mx.image.imdecode(data, flag=int(flag)).asnumpy()
        read = mx.image.imread(golden.FOLDER / file, int(flag), to_rgb=False).asnumpy()
        np.testing.assert_array_equal(read[..., ::-1], made)
    expected = DECODED[name]
    assert made.dtype == expected.dtype == np.uint8
    assert made.shape == expected.shape
    assert np.abs(made.astype(int) - expected).max() <= 1
    # formats without loss are read exactly, but for the grey of colours beside Python's rounding
    if not file.endswith(".jpg") and flag != "0":
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("case", golden.CASES, ids=golden.name_of)
def test_changed_images(case: golden.Case) -> None:
    made = golden.run(mx, case).asnumpy()
    expected = CHANGED[golden.name_of(case)]
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    difference = np.abs(made.astype(np.float64) - expected)
    assert difference.max() <= ONE_LEVEL[case[0]]
    if case[0] == "uint8" and case[-1].get("interp", 0) in (0, 1):
        assert not difference.any()
    if case[2] == "copyMakeBorder":
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("turn", golden.TURNS)
def test_hues(turn: tuple[int, ...]) -> None:
    expected = np.load(golden.FOLDER / "turned.npz")[str(turn)]
    np.testing.assert_array_equal(shifted_hls(drawn(), list(turn)), expected)


def test_files_are_drawn_again() -> None:
    """What the golden files hold is what these tests draw."""
    made: dict[str, Any] = files()
    for name in ("rgb.png", "alpha.png"):
        before = recordio.unpack_img(recordio.pack((0, 0, 0, 0), made[name]))[1]
        np.testing.assert_array_equal(before, DECODED[f"{name}/-1"])
