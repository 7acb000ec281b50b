"""Iterators over image records: random changes, threads, means, what is refused."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import recordio
from ndarray_rt.io.image_augment import shifted_hls

from .golden_augmented import write_files
from .pictures import drawn

pytest.importorskip("PIL")
SHAPE = (3, 20, 30)
RANDOM: dict[str, Any] = {
    "rand_crop": True, "rand_mirror": True, "max_random_scale": 1.3, "max_rotate_angle": 10,
    "max_shear_ratio": 0.2, "max_random_illumination": 3, "max_random_contrast": 0.2,
    "random_h": 10, "random_s": 40, "random_l": 50, "brightness": 0.2, "contrast": 0.2,
    "saturation": 0.2, "pca_noise": 0.1, "inter_method": 10, "max_aspect_ratio": 0.2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("records")
    write_files(mx, made)
    return made


def records(folder: Path, kind: str = "ImageRecordIter", **options: Any) -> Any:
    file = "b" if kind == "ImageDetRecordIter" else "a"
    return getattr(mx.io, kind)(**{"path_imgrec": str(folder / f"{file}.rec"), "data_shape": SHAPE,
                                   "batch_size": 3, "preprocess_threads": 2, **options})


def images(iterator: Any) -> Any:
    made = np.concatenate([batch.data[0].asnumpy() for batch in iterator])
    iterator.reset()
    return made


# ---- what is drawn at random --------------------------------------------------------------------


def test_random_changes_follow_the_seed(folder: Path) -> None:
    one = records(folder, seed=4, round_batch=False, **RANDOM)
    first, second = images(one), images(one)
    assert np.isfinite(first).all()
    assert (first != second).any()
    again = records(folder, seed=4, preprocess_threads=1, round_batch=False, **RANDOM)
    np.testing.assert_array_equal(images(again), first)
    np.testing.assert_array_equal(images(again), second)
    assert (images(records(folder, seed=5, round_batch=False, **RANDOM)) != first).any()


def test_seed_aug_is_the_same_in_each_pass(folder: Path) -> None:
    one = records(folder, seed_aug=3, round_batch=False, **RANDOM)
    first = images(one)
    np.testing.assert_array_equal(images(one), first)
    assert (images(records(folder, seed_aug=4, round_batch=False, **RANDOM)) != first).any()


def test_random_parts_are_parts(folder: Path) -> None:
    for mirror in (False, True):
        iterator = records(folder, dtype="uint8", rand_crop=True, rand_mirror=mirror)
        places = set()
        for batch in [*iterator, *(iterator.reset() or iterator)]:
            for image, label in zip(batch.data[0].asnumpy(), batch.label[0].asnumpy(),
                                    strict=True):
                whole = drawn(30 + int(label), 40, shift=30 * int(label)).transpose(2, 0, 1)
                found = [(y, x, way) for y in range(whole.shape[1] - 19) for x in range(11)
                         for way in (1, -1)
                         if (whole[:, y:y + 20, x:x + 30][:, :, ::way] == image).all()]
                assert found
                places.add(found[0])
        assert len(places) > 3


def test_random_areas(folder: Path) -> None:
    options: dict[str, Any] = {"random_resized_crop": True, "min_random_area": 0.2,
                               "max_random_area": 0.5, "min_aspect_ratio": 0.5,
                               "max_aspect_ratio": 2}
    found = images(records(folder, **options))
    assert found.shape == (9, *SHAPE)
    assert (found != images(records(folder))).mean() > 0.5


def test_hues_are_turned() -> None:
    red = np.full((2, 2, 3), (200, 0, 0), np.uint8)
    assert shifted_hls(red, [60, 0, 0]).tolist() == [[[0, 200, 0]] * 2] * 2
    assert shifted_hls(red, [0, 255, 0]).tolist() == [[[255, 255, 255]] * 2] * 2
    assert shifted_hls(red, [0, 0, -255]).tolist() == [[[100, 100, 100]] * 2] * 2
    rest = np.concatenate([red, np.full((2, 2, 1), 9, np.uint8)], 2)
    assert (shifted_hls(rest, [0, 0, 0]) == rest).all()


BOXED: dict[str, Any] = {
    "rand_crop_prob": 1, "num_crop_sampler": 2, "min_crop_scales": (0.4, 0.6),
    "max_crop_scales": (0.9, 1.0), "min_crop_aspect_ratios": 0.5, "max_crop_aspect_ratios": 2,
    "rand_pad_prob": 0.7, "max_pad_scale": 2, "rand_mirror_prob": 0.5, "random_hue_prob": 0.5,
    "max_random_hue": 18, "random_contrast_prob": 0.5, "max_random_contrast": 0.3}


@pytest.mark.parametrize("mode", ["center", "overlap"])
def test_boxes_stay_within_the_image(folder: Path, mode: str) -> None:
    iterator = records(folder, "ImageDetRecordIter", crop_emit_mode=mode, seed=2, **BOXED)
    counts = set()
    for _ in range(10):
        for batch in iterator:
            assert batch.data[0].shape == (3, *SHAPE)
            for label in batch.label[0].asnumpy():
                assert label[:3].tolist() == list(SHAPE)
                rows = label[8:4 + int(label[3])].reshape(-1, 5)
                counts.add(len(rows))
                assert (label[4 + int(label[3]):] == -1).all()
                assert (rows[:, 1:] >= 0).all()
                assert (rows[:, 1:] <= 1).all()
                assert (rows[:, 3] > rows[:, 1]).all()
        iterator.reset()
    assert counts == {1, 2, 3}


def test_parts_that_overlap_objects(folder: Path) -> None:
    limits = {f"{which}_crop_{what}": value for what in (
        "overlaps", "sample_coverages", "object_coverages")
        for which, value in (("min", 0.05), ("max", 0.95))}
    plain = images(records(folder, "ImageDetRecordIter"))
    assert (images(records(folder, "ImageDetRecordIter", rand_crop_prob=1, min_crop_scales=0.5,
                           max_crop_scales=0.8, **limits)) != plain).any()
    # no part covers all of an object and is covered by it
    never = {name: 0.99 if name.startswith("min") else 0.999 for name in limits}
    np.testing.assert_array_equal(images(records(
        folder, "ImageDetRecordIter", rand_crop_prob=1, min_crop_scales=0.1, max_crop_scales=0.2,
        **never)), plain)


# ---- means, numbers, files ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ImageRecordIter", "ImageDetRecordIter"])
def test_mean_image_is_made_and_read(folder: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mean.bin"
    raw = images(records(folder, kind, round_batch=False))[:7]
    for _ in range(2):
        made = images(records(folder, kind, round_batch=False, mean_img=str(path)))[:7]
        np.testing.assert_allclose(made, raw - raw.mean(0), atol=1e-3)
    assert list(mx.nd.load(str(path))) == ["mean_img"]
    mx.nd.save(str(path), [mx.nd.zeros((3, 2, 2))])
    with pytest.raises(mx.MXNetError, match=r"shapes \[\(3, 2, 2\)\], expected one of"):
        records(folder, kind, mean_img=str(path))


def test_index_has_the_images_numbers(folder: Path) -> None:
    iterator = records(folder, shuffle=True, round_batch=False)
    for batch in iterator:
        count = 3 - batch.pad
        assert batch.index[:count].tolist() == batch.label[0].asnumpy()[:count].tolist()
        assert iterator.getpad() == batch.pad
        assert iterator.getdata() is batch.data[0]
        assert iterator.getlabel() is batch.label[0]
        assert (iterator.getindex() == batch.index).all()
    with pytest.raises(mx.MXNetError, match="no batch now"):
        iterator.getdata()


def test_several_files_and_folders(folder: Path, tmp_path: Path) -> None:
    record = (folder / "a.rec").read_bytes()
    for name in ("x.rec", "y.rec"):
        (tmp_path / name).write_bytes(record)
    for path in (f"{folder / 'a.rec'};{folder / 'a.rec'}", str(tmp_path)):
        labels = [label for batch in records(folder, path_imgrec=path, batch_size=7)
                  for label in batch.label[0].asnumpy()]
        assert labels == [*range(7), *range(7)]
    found = []
    for part in range(3):
        found += [batch.label[0].asscalar() for batch in records(
            folder, path_imgrec=str(tmp_path), batch_size=1, num_parts=3, part_index=part)]
    assert found == [*range(7), *range(7)]


def test_texts_are_numbers_as_in_mxnet(folder: Path) -> None:
    iterator = records(folder, data_shape="(3, 20, 30)", batch_size="2", shuffle="0", scale="0.5",
                       data_name="x", label_name="y")
    assert iterator.provide_data[0] == ("x", (2, 3, 20, 30))
    assert iterator.provide_label[0] == ("y", (2,))
    np.testing.assert_allclose(next(iterator).data[0].asnumpy(),
                               next(records(folder)).data[0].asnumpy()[:2] / 2)


def test_alpha(tmp_path: Path) -> None:
    picture = np.concatenate([drawn(), drawn()[:, :, :1]], 2)
    writer = recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    writer.write(recordio.pack_img((0, 1, 0, 0), picture, img_fmt=".png"))
    writer.close()
    batch = next(records(tmp_path, batch_size=1, data_shape=(4, 37, 53), mean_a=1, std_a=2))
    expected = picture[:, :, [2, 1, 0, 3]].transpose(2, 0, 1).astype(np.float32)
    expected[3] = (expected[3] - 1) / 2
    np.testing.assert_array_equal(batch.data[0].asnumpy()[0], expected)
    with pytest.raises(mx.MXNetError, match=r"index 0: .*Expected 4 channels, got 3"):
        records(tmp_path.parent / "none", path_imgrec=str(one_rgb(tmp_path)), batch_size=1,
                data_shape=(4, 37, 53)).next()


def one_rgb(folder: Path) -> Path:
    writer = recordio.MXRecordIO(str(folder / "rgb.rec"), "w")
    writer.write(recordio.pack_img((0, 1, 0, 0), drawn(), img_fmt=".png"))
    writer.close()
    return folder / "rgb.rec"


def test_broken_images_are_named(folder: Path, tmp_path: Path) -> None:
    writer = recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    for number in range(4):
        content = b"no image" if number == 3 else (folder / "0.png").read_bytes()
        writer.write(recordio.pack((0, 0, 10 + number, 0), content))
    writer.close()
    iterator = records(tmp_path, batch_size=2)
    assert iterator.next().index.tolist() == [10, 11]
    with pytest.raises(mx.MXNetError, match="ImageRecordIter: the image of index 13"):
        iterator.next()
    iterator.reset()
    assert iterator.next().index.tolist() == [10, 11]


@pytest.mark.parametrize(("options", "error"), [
    ({"data_shape": (5, 20, 30)}, "Invalid output shape"), ({"data_shape": (3, 20)}, "Invalid"),
    ({"batch_size": 8}, "must be bigger than the batch size"), ({"batch_size": 0}, "batch_size"),
    ({"path_imgrec": ""}, "path_imgrec"), ({"path_imgrec": "none.rec"}, "No such file"),
    ({"random_resized_crop": True, "rand_crop": True}, "conflicts with"),
    ({"max_aspect_ratio": 1}, "aspects from 0"), ({"min_aspect_ratio": 3}, "aspects from 3.0 to 0"),
    ({"min_random_scale": 2}, "min_random_scale is 2"), ({"min_random_area": 0}, "min_random_area"),
    ({"max_shear_ratio": -1}, "expected numbers from 0 up"),
    ({"num_parts": 2, "part_index": 2}, "part_index is 2"), ({"dtype": "float64"}, "dtype"),
    ({"inter_method": 5}, "inter_method is 5"), ({"preprocess_threads": 0}, "preprocess_threads"),
    ({"path_imgidx": "none.idx"}, "expected an index"), ({"rand_crop": "perhaps"}, "rand_crop"),
    ({"path_imglist": "none.lst"}, "No such file"), ({"num_parts": 99, "part_index": 98},
                                                     "no records in this part")])
def test_wrong_parameters(options: dict[str, Any], error: str, folder: Path) -> None:
    with pytest.raises(mx.MXNetError, match=error):
        records(folder, **options)


@pytest.mark.parametrize(("options", "error"), [
    ({"label_width": 2}, "has 1 labels, but label_width is set to 2"),
    ({"max_crop_size": 50, "min_crop_size": 1}, "smaller than max_crop_size"),
    ({"path_imglist": "short.lst"}, "fail to find imagelabel for id")])
def test_wrong_images(options: dict[str, Any], error: str, folder: Path,
                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("short.lst").write_text("0\t5\t0.png\n")
    with pytest.raises(mx.MXNetError, match=error):
        list(records(folder, **options))


@pytest.mark.parametrize(("options", "error"), [
    ({"num_crop_sampler": 3, "min_crop_scales": (0.1, 0.2)}, "has 2 values"),
    ({"min_crop_scales": 1.0}, "wrong way round"), ({"label_pad_width": 5}, "smaller than"),
    ({"resize_mode": "stretch"}, "resize_mode")])
def test_wrong_parameters_for_boxes(options: dict[str, Any], error: str, folder: Path) -> None:
    with pytest.raises(mx.MXNetError, match=error):
        records(folder, "ImageDetRecordIter", **options)


def test_labels_that_are_no_boxes(folder: Path) -> None:
    with pytest.raises(mx.MXNetError, match="index 0: Label shape is invalid"):
        records(folder, "ImageDetRecordIter", path_imgrec=str(folder / "a.rec")).next()
    with pytest.raises(mx.MXNetError, match="label_width is set to 3"):
        records(folder, "ImageDetRecordIter", label_width=3).next()


def test_unknown_parameters_are_told(folder: Path) -> None:
    with pytest.warns(UserWarning, match=r"unknown parameter 'and_mirror'.*'rand_mirror'") as told:
        mx.io.ImageRecordIter(path_imgrec=str(folder / "a.rec"), data_shape=SHAPE, batch_size=3,
                              and_mirror=False)
    assert told[0].filename == __file__


# ---- threads and processes ----------------------------------------------------------------------


def test_threads_end_with_the_iterator(folder: Path) -> None:
    before = {thread.ident for thread in threading.enumerate()}
    iterator = records(folder)
    next(iterator)
    del iterator
    gc.collect()
    for thread in threading.enumerate():
        if thread.ident not in before:
            thread.join(10)
    assert {thread.ident for thread in threading.enumerate()} <= before


SLOW = """
import sys
import ndarray_rt as mx
iterator = mx.io.ImageRecordIter(path_imgrec=sys.argv[1], data_shape=(3, 900, 1200), batch_size=200,
                                 prefetch_buffer=9, round_batch=False, inter_method=4)
print("begun", flush=True)
for batch in iterator:
    pass
"""


def test_an_interrupt_does_not_wait_for_batches(folder: Path, tmp_path: Path) -> None:
    writer = recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    record = recordio.pack((0, 1, 0, 0), (folder / "0.png").read_bytes())
    for _ in range(2000):
        writer.write(record)
    writer.close()
    program = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path / "a.rec")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    program.stdout.readline()
    time.sleep(0.5)
    begin = time.monotonic()
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert time.monotonic() - begin < 2
    assert "KeyboardInterrupt" in errors


def test_a_forked_child_reads_for_itself(folder: Path) -> None:
    iterator = records(folder)
    expected = iterator.next().label[0].asnumpy().tolist()
    child = os.fork()
    if not child:
        try:
            try:
                iterator.next()
            except mx.MXNetError:
                iterator.reset()
            labels = [batch.label[0].asnumpy().tolist() for batch in iterator]
            os._exit(0 if labels[0] == expected and len(labels) == 3 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [batch.label[0].asnumpy().tolist() for batch in iterator] == [[3, 4, 5], [6, 0, 1]]


def test_module_trains_on_records(folder: Path) -> None:
    data = mx.sym.Flatten(mx.sym.var("data"))
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=7), name="softmax")
    module = mx.mod.Module(net)
    module.fit(records(folder, scale=1 / 255), num_epoch=2)
    assert module.predict(records(folder)).shape[1] == 7
