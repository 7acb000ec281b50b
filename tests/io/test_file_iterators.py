"""Iterators over files of numbers; files that are missing, damaged or of another form."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, ParameterError

io = mx.io


def idx(path: Path, value: Any, magic: int = 8) -> str:
    data = bytes([0, 0, magic, value.ndim]) + np.array(value.shape, ">u4").tobytes() + (
        value.astype(np.uint8).tobytes())
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("\n".join(f"{i},{i + .5},1,2" for i in range(5)))
    (tmp_path / "y.csv").write_text("\n".join(str(i) for i in range(5)))
    source = io.CSVIter(data_csv=str(tmp_path / "x.csv"), data_shape=(2, 2),
                        label_csv=str(tmp_path / "y.csv"), batch_size=2)
    assert source.provide_data == [("data", (2, 2, 2))]
    assert source.provide_label == [("softmax_label", (2,))]
    found = [(b.label[0].asnumpy().tolist(), b.pad, b.index.tolist()) for b in source]
    assert found == [([0, 1], 0, [0, 1]), ([2, 3], 0, [2, 3]), ([4, 0], 1, [4, 0])]
    source.reset()  # the first sample was in the last batch
    assert source.next().label[0].asnumpy().tolist() == [1, 2]
    source = io.CSVIter(data_csv=str(tmp_path / "x.csv"), data_shape="(4,)", batch_size=3,
                        round_batch=False, dtype="float64")
    first, second = source
    assert [first.pad, second.pad] == [0, 1]
    assert first.data[0].dtype == np.float64
    np.testing.assert_array_equal(second.data[0].asnumpy()[:2, 0], [3, 4])
    assert first.label[0].asnumpy().tolist() == [0, 0, 0]
    assert source.getpad if source.iter_next() else True


def test_parts_for_workers(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("\n".join(str(i) for i in range(7)))
    parts = [[int(x) for b in io.CSVIter(data_csv=str(tmp_path / "x.csv"), data_shape=(1,),
                                         num_parts=3, part_index=i) for x in
              b.data[0].asnumpy().ravel()] for i in range(3)]
    assert parts == [[0, 1], [2, 3], [4, 5, 6]]


def test_libsvm(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1.5 0:2 3:4\n\n-2 1:1\n0\n")
    source = io.LibSVMIter(data_libsvm=str(tmp_path / "x"), data_shape=(4,), batch_size=3)
    batch = source.next()
    np.testing.assert_array_equal(batch.data[0].asnumpy(),
                                  [[2, 0, 0, 4], [0, 1, 0, 0], [0, 0, 0, 0]])
    assert batch.label[0].asnumpy().tolist() == [1.5, -2, 0]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_mnist(tmp_path: Path, ending: str) -> None:
    pixels = np.random.RandomState(0).randint(0, 256, (7, 4, 3))
    image = idx(tmp_path / f"images{ending}", pixels)
    label = idx(tmp_path / f"labels{ending}", np.arange(7))
    source = io.MNISTIter(image=image, label=label, batch_size=3, shuffle=False)
    assert source.provide_data == [("data", (3, 1, 4, 3))]
    found = list(source)
    assert [b.label[0].asnumpy().tolist() for b in found] == [[0, 1, 2], [3, 4, 5]]
    np.testing.assert_array_equal(found[1].data[0].asnumpy()[:, 0],
                                  (pixels[3:6] / 256).astype("float32"))
    flat = io.MNISTIter(image=image, label=label, batch_size=7, flat=True, seed=4)
    batch = flat.next()
    order = batch.label[0].asnumpy().astype(int)
    assert sorted(order) == list(range(7))
    np.testing.assert_allclose(batch.data[0].asnumpy(), pixels[order].reshape(7, 12) / 256)


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing")
    good = idx(tmp_path / "labels", np.arange(3))
    (tmp_path / "short").write_bytes(bytes([0, 0, 8, 3]) + np.array([9, 28, 28], ">u4").tobytes())
    (tmp_path / "text").write_text("a,b\n")
    (tmp_path / "ragged").write_text("1,2\n3\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "far").write_text("1 9:1\n")
    csv: dict[str, Any] = {"data_shape": (2,)}
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
            (lambda: io.CSVIter(data_csv=missing, **csv), MXNetError, "nothing"),
            (lambda: io.CSVIter(data_csv=str(tmp_path / "text"), **csv), ParameterError, "text"),
            (lambda: io.CSVIter(data_csv=str(tmp_path / "ragged"), **csv), ParameterError,
             "ragged"),
            (lambda: io.CSVIter(data_csv=str(tmp_path / "ragged"), data_shape=(0,)),
             ParameterError, "from 1 up"),
            (lambda: io.LibSVMIter(data_libsvm=missing, data_shape=(2,)), MXNetError, "nothing"),
            (lambda: io.LibSVMIter(data_libsvm=str(tmp_path / "far"), data_shape=(2,)),
             ParameterError, "place 9 is not below 2"),
            (lambda: io.LibSVMIter(data_libsvm=str(tmp_path / "text"), data_shape=(2,)),
             ParameterError, "text"),
            (lambda: io.MNISTIter(image=missing, label=good), MXNetError, "form idx"),
            (lambda: io.MNISTIter(image=good, label=good), ParameterError, "no idx file"),
            (lambda: io.MNISTIter(image=str(tmp_path / "short"), label=good), ParameterError,
             "expected 7056"),
            (lambda: io.MNISTIter(image=idx(tmp_path / "i", np.ones((4, 2, 2))), label=good),
             ParameterError, "4 images"),
            (lambda: io.MNISTIter(image=idx(tmp_path / "i", np.ones((3, 2, 2))), label=good,
                                  batch_size=4), ParameterError, "there are 3 images")]
    for call, error, text in calls:
        with pytest.raises(error, match=text):
            call()


def test_unknown_keywords_are_told(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2\n")
    (tmp_path / "x.t").write_text("1 0:5\n")
    image, label = idx(tmp_path / "i", np.zeros((1, 2, 2))), idx(tmp_path / "l", np.zeros(1))
    for make, options in ((io.CSVIter, {"data_csv": str(tmp_path / "x.csv"), "data_shape": 2}),
                          (io.LibSVMIter, {"data_libsvm": str(tmp_path / "x.t"), "data_shape": 2}),
                          (io.MNISTIter, {"image": image, "label": label, "batch_size": 1})):
        with pytest.warns(UserWarning, match="unknown parameter .batch_sise.") as told:
            make(batch_sise=3, **options)  # type: ignore[arg-type]
        assert told[0].filename == __file__


def test_batches_by_other_names(tmp_path: Path) -> None:
    inner = io.NDArrayIter(np.arange(6).reshape(3, 2), np.arange(3), batch_size=2)
    source = io.MXDataIter(inner, data_name="x", label_name="y")
    assert [desc.name for desc in source.provide_data + source.provide_label] == ["x", "y"]
    with pytest.raises(MXNetError, match="MXDataIter: there is no batch now"):
        source.getdata()
    for _ in range(2):
        assert [batch.label[0].asnumpy().tolist() for batch in source] == [[0, 1], [2, 0]]
        source.reset()
    assert source.iter_next()
    assert (source.getdata().shape, source.getlabel().shape, source.getpad()) == ((2, 2), (2,), 0)


def test_the_first_batch_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    source = io.CSVIter(data_csv=str(tmp_path / "x.csv"), data_shape=2)
    assert isinstance(source, io.MXDataIter)
    source.debug_skip_load()
    first = source.next()
    assert first.data[0].asnumpy().tolist() == [[1, 2]]
    assert all(source.next() is first for _ in range(4))
