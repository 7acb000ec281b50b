"""Loaders as iterators of modules, and metrics for TensorBoard."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.contrib import tensorboard
from ndarray_rt.contrib.io import DataLoaderIter
from ndarray_rt.errors import MissingPackage, ParameterError


def loader(last_batch: str = "keep") -> Any:
    data = np.arange(14, dtype="float32").reshape(7, 2)
    return mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(data, np.arange(7)), 3,
                                    last_batch=last_batch)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_loader_as_an_iterator(dtype: str) -> None:
    source = DataLoaderIter(loader(), dtype=dtype)
    assert source.provide_data[0].shape == (3, 2)
    assert source.provide_label[0].name == "softmax_label"
    for _ in range(2):
        batches = list(source)
        assert [batch.pad for batch in batches] == [0, 0, 2]
        assert batches[2].data[0].asnumpy().tolist() == [[12, 13], [0, 0], [0, 0]]
        assert batches[2].label[0].asnumpy().tolist() == [6, 0, 0]
        assert batches[0].data[0].dtype == np.dtype(dtype)
        assert batches[0].index is None
        source.reset()
    assert len(list(DataLoaderIter(loader("discard")))) == 2
    empty = mx.gluon.data.DataLoader(mx.gluon.data.SimpleDataset([]), 3)
    with pytest.raises(ParameterError, match="no batch"):
        DataLoaderIter(empty)


def test_a_module_trains_on_a_loader() -> None:
    net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.Variable("data"),
                                                              num_hidden=1),
                                        mx.sym.Variable("softmax_label"))
    module = mx.mod.Module(net)
    module.fit(DataLoaderIter(loader()), eval_metric="mse", num_epoch=2)
    assert module.predict(DataLoaderIter(loader())).shape == (7, 1)


def test_metrics_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written: list[Any] = []

    class SummaryWriter:
        def __init__(self, folder: str) -> None:
            written.append(folder)

        def add_scalar(self, name: str, value: float, global_step: int) -> None:
            written.append((name, value, global_step))

    writer = ModuleType("tensorboardX")
    writer.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mxboard", None)
    monkeypatch.setitem(sys.modules, "tensorboardX", writer)
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0, 1], [0, 1]])])
    param = mx.model.BatchEndParam(4, 2, metric, None)
    for prefix in (None, "train"):
        tensorboard.LogMetricsCallback(str(tmp_path), prefix)(param)
        tensorboard.LogMetricsCallback(str(tmp_path), prefix)(
            mx.model.BatchEndParam(4, 2, None, None))
    assert written == [str(tmp_path), ("accuracy", 0.5, 4), *[str(tmp_path)] * 2,
                       ("train-accuracy", 0.5, 4), str(tmp_path)]
    for name in tensorboard._WRITERS:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match="mxboard, tensorboardX"):
        tensorboard.LogMetricsCallback(str(tmp_path))
