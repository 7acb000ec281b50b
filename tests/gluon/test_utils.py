"""gluon.utils: splitting, clipping, files, handles."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import Unsupported
from ndarray_rt.gluon import utils


def test_split_data() -> None:
    x = mx.nd.arange(10).reshape((5, 2))
    assert [p.shape for p in utils.split_data(x, 2, even_split=False)] == [(3, 2), (2, 2)]
    assert [p.shape for p in utils.split_data(x, 2, batch_axis=1)] == [(5, 1), (5, 1)]
    with pytest.raises(ValueError, match="evenly split"):
        utils.split_data(x, 2)
    parts = utils.split_data(x, 5)
    assert (np.concatenate([p.asnumpy() for p in parts]) == x.asnumpy()).all()


def test_split_and_load() -> None:
    contexts = [mx.cpu(0), mx.cpu(1)]
    parts = utils.split_and_load(np.arange(4), contexts)
    assert [p.ctx for p in parts] == contexts
    assert [p.asnumpy().tolist() for p in parts] == [[0, 1], [2, 3]]
    whole, = utils.split_and_load(mx.nd.ones((3,)), [mx.cpu(1)])
    assert whole.ctx == mx.cpu(1)


@pytest.mark.parametrize("check", [True, False])
def test_clip_global_norm(check: bool) -> None:
    arrays = [mx.nd.array([3.0]), mx.nd.array([[4.0]])]
    norm = utils.clip_global_norm(arrays, 10.0, check)
    assert float(norm) == 5.0
    assert arrays[0].asscalar() == 3.0
    utils.clip_global_norm(arrays, 1.0, check)
    np.testing.assert_allclose([a.asscalar() for a in arrays], [0.6, 0.8], rtol=1e-6)
    assert isinstance(norm, mx.nd.NDArray) is not check


def test_clip_global_norm_of_nothing_finite() -> None:
    arrays = [mx.nd.array([np.inf])]
    with pytest.warns(UserWarning, match="nan or inf"):
        utils.clip_global_norm(arrays, 1.0)
    with pytest.raises(AssertionError):
        utils.clip_global_norm([], 1.0)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    digest = hashlib.sha1(b"abc").hexdigest()
    assert utils.check_sha1(path, digest)
    assert not utils.check_sha1(path, "0" * 40)
    url = "https://example.org/a"
    assert utils.download(url, str(tmp_path), sha1_hash=digest) == str(path)
    options: dict[str, Any]
    for options, text in (({"overwrite": True}, "asked for"), ({"sha1_hash": "0"}, "SHA-1"),
                          ({"path": str(tmp_path / "b")}, "not there")):
        with pytest.raises(Unsupported, match=text):
            utils.download(url, **({"path": str(path)} | options))
    with pytest.raises(AssertionError, match="retries"):
        utils.download(url, retries=-1)
    with pytest.raises(AssertionError, match="file-name"):
        utils.download("https://example.org/")
    utils.replace_file(path, tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == b"abc"
    with pytest.raises(OSError, match="failed"):
        utils.replace_file(path, tmp_path / "d")


def test_shape_is_known() -> None:
    assert utils.shape_is_known((2, 3))
    assert not utils.shape_is_known((2, 0))
    assert not utils.shape_is_known(())
    assert not utils.shape_is_known(None)
    with mx.np_shape():
        assert utils.shape_is_known(())
        assert utils.shape_is_known((0,))
        assert not utils.shape_is_known((-1,))
    with pytest.raises(AssertionError):
        utils.shape_is_known((-1,))


def test_hook_handles() -> None:
    hooks: OrderedDict[int, object] = OrderedDict()
    handle = utils.HookHandle()
    handle.attach(hooks, print)
    assert list(hooks.values()) == [print]
    with pytest.raises(AssertionError, match="twice"):
        handle.attach(hooks, print)
    handle.detach()
    handle.detach()
    assert not hooks
