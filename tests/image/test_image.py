"""Reading, sizes and iterators: what is refused, and how it is said."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import recordio
from ndarray_rt.errors import MissingPackage
from ndarray_rt.image import codecs

from . import golden
from .golden_augmented import BOXES, SHAPE, write_files
from .pictures import drawn

pytest.importorskip("PIL")
PNG = (golden.FOLDER / "rgb.png").read_bytes()
JPEG = (golden.FOLDER / "sampled.jpg").read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("images")
    write_files(mx, made)
    return made


# ---- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"no image", PNG[:400], JPEG[:-300], PNG[:20]])
def test_damaged_images(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match="imdecode"):
        mx.image.imdecode(data)
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(mx.MXNetError, match=r"a\.png"):
        mx.image.imread(tmp_path / "a.png")
    if data:
        with pytest.raises(mx.MXNetError):
            recordio.unpack_img(recordio.pack((0, 0, 0, 0), data))


def test_wrong_calls_of_reading(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be of type bytes"):
        mx.image.imdecode("text")
    with pytest.raises(mx.MXNetError, match="No such file"):
        mx.image.imread(str(tmp_path / "none.jpg"))
    with pytest.raises(TypeError, match="expected a path"):
        mx.image.imread(None)
    with pytest.raises(TypeError, match="expected uint8"):
        mx.image.imdecode(np.zeros(5))
    for flag in (-1, "colour"):
        with pytest.raises(mx.MXNetError, match="flag is"):
            mx.image.imdecode(PNG, flag=flag)
    with pytest.raises(ValueError, match="out has shape"):
        mx.image.imdecode(PNG, out=mx.nd.zeros((3, 3, 3)))


def test_kinds_of_buffers() -> None:
    expected = mx.image.imdecode(PNG).asnumpy()
    assert (expected == drawn()).all()
    array = np.frombuffer(PNG, np.uint8)
    out = mx.nd.zeros(expected.shape, dtype="uint8")
    assert mx.nd._internal._cvimdecode(mx.nd.array(array, dtype="uint8"), out=out) is out
    for made in (mx.img.imdecode(bytearray(PNG)), mx.image.imdecode(array), out,
                 mx.image.imdecode(mx.nd.array(array, dtype="uint8"), 1, True),
                 mx.nd._internal._cvimread(filename=str(golden.FOLDER / "rgb.png")),
                 mx.img.image.imread(str(golden.FOLDER / "rgb.png"))):
        assert made.dtype == np.uint8
        assert (made.asnumpy() == expected).all()
    assert mx.image.det is mx.image.detection
    assert mx.img is mx.image


@pytest.mark.parametrize("orientation", range(2, 9))
def test_images_of_cameras_are_turned(orientation: int) -> None:
    """A header of JFIF keeps MXNet from looking at the orientation."""
    data = (golden.FOLDER / f"turned-{orientation}.jpg").read_bytes()
    plain = mx.image.imdecode(data).asnumpy()
    length = int.from_bytes(data[4:6], "big")
    turned = mx.image.imdecode(data[:2] + data[4 + length:]).asnumpy()
    from PIL import Image, ImageOps
    with Image.open(golden.FOLDER / f"turned-{orientation}.jpg") as file:
        upright = np.asarray(ImageOps.exif_transpose(file))
        assert (plain == np.asarray(file)).all()
    assert (turned == upright).all()
    assert not np.array_equal(turned, plain)


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def none(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "PIL":
            raise ImportError
        return real(name, *args, **kwargs)
    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(MissingPackage, match=r"Pillow: pip install 'ndarray_rt\[image\]'"):
        mx.image.imdecode(PNG)


@pytest.mark.parametrize(("ending", "quality", "mean"),
                         [(".jpg", 95, 7), (".png", 95, 0), (".PNG", 3, 0), (".bmp", 0, 0)])
def test_packed_images(ending: str, quality: int, mean: int) -> None:
    picture = drawn()
    record = recordio.pack_img((0, 4, 7, 0), picture, quality, ending)
    header, image = recordio.unpack_img(record)
    assert (header.label, header.id) == (4.0, 7)
    assert np.abs(image.astype(int) - picture).mean() <= mean
    grey = recordio.unpack_img(recordio.pack_img((0, 4, 7, 0), picture[:, :, :1], quality, ending))
    assert grey[1].shape == picture.shape[:2]
    assert recordio.unpack_img(record, 0)[1].shape == picture.shape[:2]
    assert recordio.unpack_img(record, 1)[1].shape == picture.shape


def test_packed_alpha() -> None:
    picture = np.concatenate([drawn(), drawn()[:, :, :1]], 2)
    record = recordio.pack_img((0, 4, 7, 0), picture, img_fmt=".png")
    assert (recordio.unpack_img(record)[1] == picture).all()
    assert (recordio.unpack_img(record, 1)[1] == picture[:, :, :3]).all()


def test_images_that_can_not_be_packed() -> None:
    for image, kind, error in ((drawn().astype("float32"), ".png", "dtype float32"),
                               (drawn()[:, :, :2], ".png", r"shape \(37, 53, 2\)"),
                               (drawn()[:0], ".png", r"shape \(0, 53, 3\)"),
                               (drawn(), ".xyz", "img_fmt is '.xyz'")):
        with pytest.raises(mx.MXNetError, match=error):
            recordio.pack_img((0, 0, 0, 0), image, img_fmt=kind)


def test_deep_grey() -> None:
    data = (golden.FOLDER / "deep.png").read_bytes()
    for flag, shape in ((0, (37, 53, 1)), (1, (37, 53, 3))):
        assert codecs.decode(data, flag).shape == shape


# ---- sizes and colours --------------------------------------------------------------------------


def test_scale_down() -> None:
    assert mx.image.scale_down((640, 480), (720, 120)) == (640, 106)
    assert mx.image.scale_down((360, 1000), (480, 500)) == (360, 375)
    assert mx.image.scale_down((300, 400), (0, 0)) == (0, 0)


def test_wrong_sizes() -> None:
    image = mx.nd.array(drawn(), dtype="uint8")
    with pytest.raises(ValueError, match="Unknown interp method 7"):
        mx.image.resize_short(image, 20, 7)
    with pytest.raises(mx.MXNetError, match="'w'"):
        mx.image.imresize(image, 0, 5)
    with pytest.raises(mx.MXNetError, match="uint8"):
        mx.image.imresize(image.astype("int32"), 5, 5)
    for margins in ((-1, 0, 0, 0, 0), (0, 0, 0, 0, 5)):
        with pytest.raises(mx.MXNetError, match=r"top|type"):
            mx.image.copyMakeBorder(image, *margins)
    with pytest.raises(mx.MXNetError, match="nothing to repeat"):
        mx.image.copyMakeBorder(image[:0], 1, 1, 1, 1)
    with pytest.raises(ValueError, match=r"unexpected keyword arguments .* least"):
        mx.image.random_size_crop(image, (5, 5), 0.5, (1, 1), least=3)
    with pytest.warns(DeprecationWarning, match="min_area"):
        assert mx.image.random_size_crop(image, (5, 6), 0, (1, 1), min_area=0.5)[0].shape \
            == (6, 5, 3)


def test_a_part_that_is_always_too_large_is_the_middle() -> None:
    image = mx.nd.array(drawn(), dtype="uint8")
    made, place = mx.image.random_size_crop(image, (5, 5), (1, 1), (9, 9))
    assert place == mx.image.center_crop(image, (5, 5))[1]
    assert made.shape == (5, 5, 3)


def test_wrong_augmenters() -> None:
    with pytest.raises(ValueError, match="rand_resize needs rand_crop"):
        mx.image.CreateAugmenter(SHAPE, rand_resize=True)
    with pytest.raises(ValueError, match=r"std is .*expected an array of 1 or 3"):
        mx.image.CreateAugmenter(SHAPE, std=np.zeros(2))
    with pytest.raises(TypeError, match="invalid Augmenter"):
        mx.image.DetBorrowAug(mx.image.DetHorizontalFlipAug(0.5))
    with pytest.raises(ValueError, match="DetAugmenter in list only"):
        mx.image.DetRandomSelectAug([mx.image.CastAug()])
    with pytest.raises(ValueError, match="lists of 2 and of 3"):
        mx.image.CreateMultiRandCropAugmenter([0.1, 0.2, 0.3], max_attempts=[1, 2])
    for kind in (mx.image.DetRandomCropAug, mx.image.DetRandomPadAug):
        for options in ({"area_range": (2, 1)}, {"aspect_ratio_range": (0, 1)}):
            with pytest.warns(UserWarning, match=f"Skip {kind.__name__}"):
                skipped = kind(**options)
            image = mx.nd.array(drawn(), dtype="uint8")
            assert skipped(image, BOXES)[0] is image


# ---- iterators ----------------------------------------------------------------------------------


def test_broken_images_are_named(folder: Path, tmp_path: Path) -> None:
    rows = [[0, "0.png"], [1, "bad.png"]]
    (tmp_path / "0.png").write_bytes(PNG)
    (tmp_path / "bad.png").write_bytes(PNG[:300])
    iterator = mx.image.ImageIter(2, SHAPE, imglist=rows, path_root=str(tmp_path))
    with pytest.raises(RuntimeError, match=r"Broken image filename: bad\.png"):
        iterator.next()
    iterator = mx.image.ImageIter(2, SHAPE, imglist=[[0, "none.png"]], path_root=str(tmp_path))
    with pytest.raises(mx.MXNetError, match=r"none\.png.*No such file"):
        iterator.next()
    writer = mx.recordio.MXIndexedRecordIO(tmp_path / "c.idx", tmp_path / "c.rec", "w")
    writer.write_idx(17, recordio.pack((0, 0, 17, 0), b"no image"))
    writer.close()
    for options, name in (({"path_imgidx": str(tmp_path / "c.idx")}, "index: 17"),
                          ({}, r"c\.rec")):
        iterator = mx.image.ImageIter(1, SHAPE, path_imgrec=str(tmp_path / "c.rec"), **options)
        with pytest.raises(RuntimeError, match=f"Broken image .*{name}"):
            iterator.next()


@pytest.mark.parametrize(("options", "error"), [
    ({}, "needs one of path_imgrec"), ({"imglist": [], "dtype": "uint8"}, "not supported"),
    ({"imglist": [], "last_batch_handle": "keep"}, "last_batch_handle is 'keep'"),
    ({"path_imgrec": "a.rec", "shuffle": True}, "need path_imgidx"),
    ({"path_imgrec": "a.rec", "num_parts": 2}, "need path_imgidx"),
    ({"path_imgrec": "a.rec", "path_imgidx": "a.idx", "num_parts": 2, "part_index": 2},
     "part_index is 2"),
    ({"imglist": [], "data_shape": (1, 4, 4)}, "3 channels"),
    ({"imglist": [], "data_shape": (4, 4)}, "length 3"),
    ({"path_imglist": "none.lst"}, "No such file"),
    ({"path_imglist": "0.png"}, "no list of images"),
    ({"path_imglist": "a.idx"}, "line 1: expected a number")])
def test_wrong_iterators(options: dict[str, Any], error: str, folder: Path,
                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(mx.MXNetError, match=error):
        mx.image.ImageIter(2, **{"data_shape": SHAPE, **options})


def test_labels_of_another_width(folder: Path) -> None:
    iterator = mx.image.ImageIter(2, SHAPE, label_width=3, path_imgrec=str(folder / "a.rec"))
    with pytest.raises(mx.MXNetError, match="has 1 labels, expected label_width=3"):
        iterator.next()


def test_augmenters_must_give_the_shape(folder: Path) -> None:
    iterator = mx.image.ImageIter(2, SHAPE, path_imgrec=str(folder / "a.rec"), aug_list=[])
    with pytest.raises(mx.MXNetError, match=r"give an image of shape \(3, 30, 40\)"):
        iterator.next()


def test_a_batch_larger_than_all_images(folder: Path) -> None:
    iterator = mx.image.ImageIter(17, SHAPE, path_imgrec=str(folder / "a.rec"),
                                  path_imgidx=str(folder / "a.idx"))
    (batch,) = iterator
    assert batch.pad == 10
    assert batch.label[0].asnumpy().tolist() == [*range(7), *range(7), 0, 1, 2]


def test_hard_reset_drops_what_rolls_over(folder: Path) -> None:
    iterator = mx.image.ImageIter(4, SHAPE, path_imgrec=str(folder / "a.rec"),
                                  last_batch_handle="roll_over")
    assert len(list(iterator)) == 1
    iterator.hard_reset()
    assert iterator.next().label[0].asnumpy().tolist() == [0, 1, 2, 3]


def test_labels_of_boxes(folder: Path) -> None:
    iterator = mx.image.ImageDetIter(2, SHAPE, path_imgrec=str(folder / "b.rec"))
    assert iterator.label_shape == (3, 5)
    other = mx.image.ImageDetIter(2, SHAPE, path_root=str(folder), imglist=[
        [2, 5, 0, 0.1, 0.1, 0.5, 0.5, "0.png"]])
    assert other.label_shape == (1, 5)
    assert iterator.sync_label_shape(other, verbose=True) is other
    assert other.label_shape == (3, 5)
    assert other.next().label[0].shape == (2, 3, 5)
    iterator.reshape(SHAPE, (4, 5))
    batch = iterator.next()
    assert (batch.data[0].shape, batch.label[0].shape) == ((2, *SHAPE), (2, 4, 5))
    for shape, error in (((4,), "length 2"), ((2, 5), "reduce label count"), ((4, 6), "width")):
        with pytest.raises(ValueError, match=error):
            iterator.reshape(label_shape=shape)
    with pytest.raises(ValueError, match="invalid iterator"):
        iterator.sync_label_shape(None)
    wide = mx.image.ImageDetIter(2, SHAPE, path_root=str(folder), imglist=[
        [2, 6, 0, 0.1, 0.1, 0.5, 0.5, 1, "0.png"]])
    with pytest.raises(ValueError, match="width mismatch"):
        iterator.sync_label_shape(wide)


@pytest.mark.parametrize(("label", "error"), [
    ([2, 5, 0], "Label shape is invalid"), ([2, 5, 0, 0.1, 0.1, 0.5, 0.5, 1], "inconsistent"),
    ([2, 0, 0, 0.1, 0.1, 0.5, 0.5], "inconsistent"),
    ([2, 5, 0, 0.5, 0.5, 0.1, 0.1], "no valid label")])
def test_wrong_labels_of_boxes(label: list[float], error: str, folder: Path) -> None:
    with pytest.raises(RuntimeError, match=error):
        mx.image.ImageDetIter(2, SHAPE, path_root=str(folder), imglist=[[*label, "0.png"]])


def test_boxes_are_drawn(folder: Path) -> None:
    iterator = mx.image.ImageDetIter(2, (3, 60, 80), path_imgrec=str(folder / "b.rec"), mean=True,
                                     std=True)
    images = list(iterator.draw_next(color=(255, 0, 0), thickness=1, mean=True, std=True,
                                     id2labels={3: "three"}))
    assert len(images) == 7
    assert images[0].shape == (60, 80, 3)
    left, top, right, bottom = (int(part * size) for part, size in
                                zip(BOXES[0, 1:], (80, 60, 80, 60), strict=True))
    for y, x in ((top, left), (bottom, right), (top, right), (30, left)):
        assert images[0][y, x].tolist() == [0, 0, 255]
    iterator.reset()
    assert len(list(iterator.draw_next())) == 7
