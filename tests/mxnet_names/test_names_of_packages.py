"""Underscored names of MXNet that GluonCV, GluonNLP, GluonFR and GluonTS import."""

from __future__ import annotations

import pickle
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.gluon import block, utils
from ndarray_rt.gluon.data import dataloader
from ndarray_rt.gluon.model_zoo import model_store
from ndarray_rt.gluon.model_zoo.vision import resnet
from ndarray_rt.image import image


def test_addresses_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MXNET_GLUON_REPO", raising=False)
    assert utils._get_repo_file_url("gluon/models", "a.zip") == (
        f"{utils._get_repo_url()}gluon/models/a.zip")
    monkeypatch.setenv("MXNET_GLUON_REPO", "https://example.org/files")
    assert utils._get_repo_file_url("x", "y") == "https://example.org/files/x/y"


def test_models_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(model_store._model_sha1, "theirs", "0123456789" * 4)
    with pytest.raises(mx.MXNetError, match=r"theirs-01234567\.params.* is not there"):
        model_store.get_model_file("theirs", root=str(tmp_path))


def test_pieces_of_networks() -> None:
    x, y = mx.nd.ones((1,)), mx.nd.zeros((1,))
    flat, _ = block._flatten([x, [y, x]], "input")
    assert [each is other for each, other in zip(flat, (x, y, x), strict=True)] == [True] * 3
    conv = resnet._conv3x3(4, 2, 3)
    conv.initialize()
    assert conv(mx.nd.ones((1, 3, 8, 8))).shape == (1, 4, 4, 4)
    assert image._get_interp_method(9, (10, 10, 20, 20)) == 2


def _work(numbers: list[int], batchify: Any, dataset: Any) -> bytes:
    return pickle.dumps(batchify([dataset[i] for i in numbers]))


@pytest.mark.parametrize("pin", [False, True])
def test_batches_of_a_pool(pin: bool) -> None:
    data = [np.full(2, i, np.float32) for i in range(7)]
    batches = [[0, 1, 2], [3, 4, 5], [6]]
    with ThreadPool(2) as pool:
        made = dataloader._MultiWorkerIter(
            pool, dataloader.default_batchify_fn, batches, pin_memory=pin, worker_fn=_work,
            prefetch=2, dataset=data)
        assert len(made) == 3
        found = list(made)
    assert [x.asnumpy()[:, 0].tolist() for x in found] == batches
    assert [str(x.context) for x in found] == ["cpu_pinned(0)" if pin else "cpu(0)"] * 3
    assert pickle.loads(dataloader.ForkingPickler.dumps(found[0])).shape == (3, 2)
    assert dataloader._as_in_context([found[0]], mx.cpu(1))[0].context == mx.cpu(1)
