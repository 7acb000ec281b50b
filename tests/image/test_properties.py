"""Whatever is asked of an image: it comes out in its shape, or an error says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import recordio
from tests.examples import examples

from .pictures import drawn

pytest.importorskip("PIL")
INTERPS = st.sampled_from([0, 1, 2, 3, 4, 9, 10])
SIDES = st.integers(1, 40)
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "resize": st.integers(1, 40), "inter_method": INTERPS, "rand_crop": st.booleans(),
    "random_resized_crop": st.booleans(), "max_rotate_angle": st.integers(0, 180),
    "rotate": st.integers(-1, 360), "max_shear_ratio": st.floats(0, 1),
    "max_aspect_ratio": st.floats(0, 0.9), "max_random_scale": st.floats(1, 2),
    "min_random_scale": st.floats(0.05, 1),
    "min_random_area": st.floats(0.1, 1),
    "max_crop_size": st.integers(-1, 30), "min_crop_size": st.integers(-1, 30),
    "max_img_size": st.floats(1, 60), "min_img_size": st.floats(0, 60), "pad": st.integers(0, 5),
    "brightness": st.floats(0, 1), "contrast": st.floats(0, 1), "saturation": st.floats(0, 1),
    "pca_noise": st.floats(0, 1), "random_h": st.integers(0, 180),
    "random_s": st.integers(0, 255), "random_l": st.integers(0, 255),
    "fill_value": st.integers(0, 255), "rand_mirror": st.booleans(),
    "max_random_contrast": st.floats(0, 1), "max_random_illumination": st.floats(0, 9),
    "seed": st.integers(0, 9), "mean_r": st.floats(0, 255), "scale": st.floats(0, 1)}
BOXED: dict[str, st.SearchStrategy[Any]] = {
    "resize": st.integers(1, 40), "inter_method": INTERPS, "seed": st.integers(0, 99),
    "rand_crop_prob": st.just(1.0), "min_crop_scales": st.floats(0, 0.5),
    "max_crop_scales": st.floats(0.6, 1), "min_crop_aspect_ratios": st.floats(0.1, 1),
    "max_crop_aspect_ratios": st.floats(1, 4), "min_crop_overlaps": st.floats(0, 0.5),
    "max_crop_overlaps": st.floats(0.5, 1), "rand_pad_prob": st.floats(0, 1),
    "max_pad_scale": st.floats(1, 3), "rand_mirror_prob": st.floats(0, 1),
    "random_hue_prob": st.floats(0, 1), "max_random_hue": st.integers(0, 180),
    "random_contrast_prob": st.floats(0, 1), "max_random_contrast": st.floats(0, 1),
    "crop_emit_mode": st.sampled_from(["center", "overlap"]),
    "emit_overlap_thresh": st.floats(0, 1),
    "resize_mode": st.sampled_from(["force", "shrink", "fit"])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("one")
    for name, label in (("a", 1.0), ("b", [2, 5, 0, 0.1, 0.2, 0.6, 0.7, 1, 0.5, 0.5, 0.9, 0.8])):
        writer = recordio.MXRecordIO(str(made / f"{name}.rec"), "w")
        writer.write(recordio.pack_img((0, label, 0, 0), drawn(21, 33), img_fmt=".png"))
        writer.close()
    return made


def some(options: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=options)


def first(iterator: Any) -> tuple[Any, str]:
    """The first batch, or what the error says."""
    try:
        return iterator.next(), ""
    except mx.MXNetError as error:
        return None, str(error)


@examples(60)
@given(options=some(OPTIONS), height=SIDES, width=SIDES, depth=st.sampled_from([1, 3]))
def test_records(options: dict[str, Any], height: int, width: int, depth: int,
                 folder: Path) -> None:
    shape = (depth, height, width)
    if options.get("random_resized_crop"):
        for name in ("rand_crop", "max_random_scale", "min_random_scale", "max_crop_size",
                     "min_crop_size"):
            options.pop(name, None)
    iterator = mx.io.ImageRecordIter(path_imgrec=str(folder / "a.rec"), data_shape=shape,
                                     batch_size=1, preprocess_threads=1, **options)
    batch, error = first(iterator)
    if batch is None:
        # the only two things that an image can be too small for
        assert "scaled by" in error or "smaller than max_crop_size" in error
        return
    assert batch.data[0].shape == (1, *shape)
    assert np.isfinite(batch.data[0].asnumpy()).all()


@examples(60)
@given(options=some(BOXED), height=SIDES, width=SIDES)
def test_records_with_boxes(options: dict[str, Any], height: int, width: int,
                            folder: Path) -> None:
    shape = (3, height, width)
    (batch,) = mx.io.ImageDetRecordIter(path_imgrec=str(folder / "b.rec"), data_shape=shape,
                                        batch_size=1, preprocess_threads=1, **options)
    assert batch.data[0].shape == (1, *shape)
    label = batch.label[0].asnumpy()[0]
    assert (label[1:3] <= shape[1:]).all()
    rows = label[6:4 + int(label[3])].reshape(-1, 5)
    assert 1 <= len(rows) <= 2
    assert ((rows[:, 1:] >= 0) & (rows[:, 1:] <= 1)).all()


@examples(40)
@given(height=SIDES, width=SIDES, new_height=SIDES, new_width=SIDES, interp=st.integers(0, 4),
       dtype=st.sampled_from(["uint8", "float32"]))
def test_an_even_image_stays_even(height: int, width: int, new_height: int, new_width: int,
                                  interp: int, dtype: str) -> None:
    image = mx.nd.full((height, width, 3), 201, dtype=dtype)
    made = mx.image.imresize(image, new_width, new_height, interp)
    assert made.shape == (new_height, new_width, 3)
    assert np.abs(made.asnumpy() - 201.0).max() <= (0 if dtype == "uint8" else 1e-3)


@examples(40)
@given(margins=st.tuples(*[st.integers(0, 50)] * 4), height=SIDES, width=SIDES,
       kind=st.integers(0, 4))
def test_the_image_is_in_its_margin(margins: tuple[int, ...], height: int, width: int,
                                    kind: int) -> None:
    image = drawn(height, width)
    top, bottom, left, right = margins
    made = mx.image.copyMakeBorder(mx.nd.array(image, dtype="uint8"), *margins, type=kind,
                                   value=77).asnumpy()
    assert made.shape == (height + top + bottom, width + left + right, 3)
    assert (made[top:top + height, left:left + width] == image).all()
    if kind:
        assert set(np.unique(made)) == set(np.unique(image))
