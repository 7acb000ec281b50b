"""The model zoo: by name, run, trained parameters out of files. Names: test_golden.py."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon.model_zoo import model_store, vision


@pytest.mark.parametrize(("name", "size"), [
    ("resnet18_v1", 32), ("resnet50_v2", 32), ("mobilenet0.25", 32), ("mobilenetv2_0.25", 32),
    ("squeezenet1.1", 224)])
def test_run(name: str, size: int) -> None:
    net = vision.get_model(name, classes=3)
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(np.random.RandomState(0).uniform(-1, 1, (1, 3, size, size)))
    expected = net(x).asnumpy()
    assert expected.shape == (1, 3)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-3, atol=1e-4)


def test_a_thumbnail_network_has_gradients() -> None:
    net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [4, 4, 8], classes=2, thumbnail=True)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    with autograd.record():
        net(mx.nd.ones((2, 3, 8, 8))).sum().backward()
    assert all(np.isfinite(p.grad().asnumpy()).all() for p in net.collect_params().values()
               if p.grad_req != "null")


def test_pretrained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(mx.MXNetError, match=r"squeezenet1\.1-33ba0f93\.params"):
        vision.squeezenet1_1(pretrained=True, root=str(tmp_path))
    path = tmp_path / "squeezenet1.1-33ba0f93.params"
    path.write_bytes(b"odd")
    with pytest.raises(mx.MXNetError, match="SHA-1"):
        vision.squeezenet1_1(pretrained=True, root=str(tmp_path))
    net = vision.squeezenet1_1(classes=2)
    net.initialize()
    net(mx.nd.ones((1, 3, 224, 224)))
    net.save_parameters(str(path))
    digest = hashlib.sha1(path.read_bytes()).hexdigest()
    moved = tmp_path / f"squeezenet1.1-{digest[:8]}.params"
    path.rename(moved)
    monkeypatch.setitem(model_store._model_sha1, "squeezenet1.1", digest)
    loaded = vision.get_model("squeezenet1.1", pretrained=True, root=str(tmp_path), classes=2)
    assert (loaded.output[0].weight.data().asnumpy()
            == net.output[0].weight.data().asnumpy()).all()
    model_store.purge(str(tmp_path))
    assert not moved.exists()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="not supported"):
        vision.get_model("resnet19_v1")
    with pytest.raises(AssertionError, match="layers: 19"):
        vision.get_resnet(1, 19)
    with pytest.raises(AssertionError, match="version: 3"):
        vision.get_resnet(3, 18)
    with pytest.raises(AssertionError, match="version 2"):
        vision.SqueezeNet("2.0")
    with pytest.raises(AssertionError, match="one for each stage"):
        vision.VGG([1], [2, 3])
    with pytest.raises(ValueError, match="not available"):
        model_store.short_hash("odd")
    assert isinstance(vision.get_model("VGG11"), gluon.HybridBlock)
