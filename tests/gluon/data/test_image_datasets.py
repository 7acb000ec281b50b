"""Datasets of images in folders and files of records, and loaders over them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import recordio
from ndarray_rt.gluon.data import DataLoader, RecordFileDataset, vision
from tests.image.golden_augmented import write_files
from tests.image.pictures import drawn

pytest.importorskip("PIL")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(mx, tmp_path)
    return tmp_path


def test_records(folder: Path) -> None:
    dataset = RecordFileDataset(str(folder / "a.rec"))
    assert len(dataset) == 7
    header, content = recordio.unpack(dataset[5])
    assert header.id == 5
    assert content == (folder / "5.png").read_bytes()
    with pytest.raises(mx.MXNetError, match=r"none\.rec.*No such file"):
        RecordFileDataset(str(folder / "none.rec"))


def test_images_in_records(folder: Path) -> None:
    dataset = vision.ImageRecordDataset(str(folder / "a.rec"))
    image, label = dataset[2]
    assert label == 2.0
    assert (image.asnumpy() == drawn(32, 40, shift=60)).all()
    grey = vision.ImageRecordDataset(str(folder / "a.rec"), 0, lambda x, y: (x.shape, y + 1))
    assert grey[2] == ((32, 40, 1), 3.0)
    assert vision.ImageRecordDataset(str(folder / "b.rec"))[0][1].size == 9
    for index in (7, -8):
        with pytest.raises(IndexError):
            dataset[index]


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2},
                                     {"num_workers": 2, "thread_pool": True}])
def test_loaders_of_records(folder: Path, workers: dict[str, Any]) -> None:
    dataset = vision.ImageRecordDataset(str(folder / "a.rec")).transform_first(
        vision.transforms.Compose([vision.transforms.Resize(8), vision.transforms.ToTensor()]))
    for _ in range(2):
        labels = []
        for data, label in DataLoader(dataset, 3, **workers):
            assert data.shape[1:] == (3, 8, 8)
            labels += label.asnumpy().tolist()
        assert labels == list(range(7))


def test_folders(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name, files in (("b", ["1.png", "0.png"]), ("a", ["2.png"]), ("c", [])):
        (root / name).mkdir(parents=True)
        for file in files:
            (root / name / file).write_bytes((folder / file).read_bytes())
    (root / "a" / "notes.txt").write_text("")
    (root / "list").write_text("")
    with pytest.warns(UserWarning, match="Ignoring") as told:
        dataset = vision.ImageFolderDataset(str(root))
    assert [str(one.message).partition(", ")[0].rpartition("/")[2] for one in told] == [
        "notes.txt of type .txt. Only support .jpg", "list"]
    assert dataset.synsets == ["a", "b", "c"]
    assert [(Path(path).name, label) for path, label in dataset.items] == [
        ("2.png", 0), ("0.png", 1), ("1.png", 1)]
    assert len(dataset) == 3
    image, label = dataset[2]
    assert label == 1
    assert (image.asnumpy() == drawn(31, 40, shift=30)).all()
    with pytest.warns(UserWarning, match="Ignoring"):
        assert vision.ImageFolderDataset(str(root), 0, lambda x, y: x.shape)[0] == (32, 40, 1)
    with pytest.raises(mx.MXNetError, match="expected a folder of folders of images"):
        vision.ImageFolderDataset(str(root / "none"))


# ---- four workers over ten thousand images ------------------------------------------------------

MANY = """
import sys
import numpy as np
from ndarray_rt.gluon.data import DataLoader, vision
dataset = vision.ImageRecordDataset(sys.argv[1])
def check():
    # memory with a name would outlive a process that is killed
    with open("/proc/self/maps") as maps:
        assert not [line for line in maps if "/dev/shm/" in line and "(deleted)" not in line]
def change(image, label):
    if label % 1000 == 999:
        check()
    if label == float(sys.argv[2]):
        raise KeyError(f"image {label}")
    return image, label
total = 0.0
for data, label in DataLoader(dataset.transform(change), 50, num_workers=4):
    total += label.asnumpy().sum()
    check()
    print(len(label), flush=True)
print(total, flush=True)
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("many")
    writer = recordio.MXIndexedRecordIO(folder / "a.idx", folder / "a.rec", "w")
    images = [recordio.pack_img((0, 0, 0, 0), drawn(12, 16, shift), img_fmt=".png")
              for shift in range(50)]
    for i in range(10_000):
        writer.write_idx(i, recordio.pack((0, i, i, 0), recordio.unpack(images[i % 50])[1]))
    writer.close()
    return str(folder / "a.rec")


def start(path: str, bad: float) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", MANY, path, str(bad)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_all_of_them(many: str) -> None:
    done = start(many, -1)
    out, errors = done.communicate(timeout=120)
    assert done.returncode == 0, errors
    assert out.split() == ["50"] * 200 + [str(float(sum(range(10_000))))]


def test_an_exception_comes_with_its_traceback(many: str) -> None:
    done = start(many, 5003)
    _, errors = done.communicate(timeout=120)
    assert done.returncode == 1
    assert "KeyError: 'image 5003.0'" in errors
    assert ", in change\n" in errors


def test_an_interrupt_ends_them(many: str) -> None:
    program = start(many, -1)
    assert program.stdout is not None
    for _ in range(20):
        program.stdout.readline()
    begin = time.monotonic()
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)  # its workers hold the pipe, too
    assert time.monotonic() - begin < 2
    assert "KeyboardInterrupt" in errors


def test_their_memory_is_given_back(many: str) -> None:
    dataset = vision.ImageRecordDataset(many)
    loader = DataLoader(dataset, 50, num_workers=4)
    live = []
    for number, (data, _) in enumerate(loader):
        if number % 50 == 49:
            live.append(mx.memory_stats()["live"])
        assert np.isfinite(float(data[0, 0, 0, 0].asscalar()))
    assert len(live) == 4
    assert max(live) - min(live) < 4 * data.size
