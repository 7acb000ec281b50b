"""PyTorch's state dicts on the zoo's networks: names, shapes, scores, and what does not fit."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import ndarray_rt as mx
from ndarray_rt.errors import ModelFormatError
from ndarray_rt.gluon.model_zoo import vision
from ndarray_rt.model_zoo.torch_names import LAYERS, RENAMED, SAME_NAMES, torch_names

GOLDEN = json.loads(Path(__file__).with_name("torch.json").read_text(encoding="utf-8"))
CLASSES = 7
Values = np.ndarray[Any, Any]


def values(name: str, shape: tuple[int, ...]) -> Values:
    """As make_torch_golden.py draws them."""
    source = np.random.default_rng(zlib.crc32(name.encode()))
    drawn = source.standard_normal(shape, np.float32)
    if name.endswith("running_var"):
        return np.exp(drawn / 4)
    if len(shape) > 1:
        return drawn * np.float32(np.sqrt(2 / np.prod(shape[1:])))
    return drawn / 8 + np.float32(name.endswith("weight"))


def shapes_of(name: str, classes: int = CLASSES) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a state dict, by way of the network here."""
    known = RENAMED.get(name, name)
    net = vision.get_model(known, classes=classes)
    symbol = net(mx.sym.Variable("data"))
    size = GOLDEN[name]["size"]
    args, _, aux = symbol.infer_shape(data=(1, 3, size, size))
    found = dict(zip([*symbol.list_arguments(), *symbol.list_auxiliary_states()],
                     [*args, *aux], strict=True))
    params = net._collect_params_with_prefix()
    names = torch_names(known, list(params))
    return {names[key]: found[param.name] for key, param in params.items()}


def state(name: str, classes: int = CLASSES) -> dict[str, Values]:
    return {key: values(key, shape) for key, shape in shapes_of(name, classes).items()}


def test_all_networks_are_named() -> None:
    assert {RENAMED.get(name, name) for name in GOLDEN} == {*LAYERS, *SAME_NAMES}


@pytest.mark.parametrize("name", GOLDEN)
def test_names_and_shapes_are_those_of_pytorch(name: str) -> None:
    lines = [f"{key} {list(shape)}" for key, shape in sorted(shapes_of(name).items())]
    assert len(lines) == GOLDEN[name]["count"]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == GOLDEN[name]["digest"]


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2", "squeezenet1_0",
                                  "squeezenet1_1", "densenet121", "inception_v3"])
def test_scores_are_those_of_pytorch(name: str, tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_file(state(name), path)
    net = mx.model_zoo.load_torch(name, path)
    size = GOLDEN[name]["size"]
    picture = np.random.default_rng(size).standard_normal((2, 3, size, size), np.float32)
    wanted = np.array(GOLDEN[name]["scores"])
    for hybrid in (False, True):
        net.hybridize(hybrid)
        got = net(mx.nd.array(picture)).asnumpy()
        np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


@pytest.fixture
def fitting(tmp_path: Path) -> Callable[[dict[str, Values]], Path]:
    def write(values: dict[str, Values]) -> Path:
        path = tmp_path / "state.safetensors"
        save_file(values, path)
        return path
    return write


def test_what_may_be_beside_the_parameters(fitting: Any) -> None:
    found = state("squeezenet1_1", classes=3)
    path = fitting({**{f"module.{key}": value for key, value in found.items()},
                    "module.bn.num_batches_tracked": np.array(3)})
    net = mx.model_zoo.load_torch("squeezenet1_1", str(path))
    assert net(mx.nd.ones((1, 3, 224, 224))).shape == (1, 3)
    np.testing.assert_array_equal(net.features[0].weight.data().asnumpy(),
                                  found["features.0.weight"])
    half = {key: value.astype(np.float16) for key, value in found.items()}
    made = mx.model_zoo.load_torch("squeezenet1.1", fitting(half))
    assert made.features[0].weight.data().dtype == np.float32


def test_a_state_dict_that_does_not_fit_is_refused_with_the_names(fitting: Any) -> None:
    found = state("squeezenet1_1")
    found["features.99.weight"] = found.pop("features.3.squeeze.weight")
    found["features.0.bias"] = np.zeros(65, np.float32)
    with pytest.raises(ModelFormatError) as told:
        mx.model_zoo.load_torch("squeezenet1_1", fitting(found))
    text = str(told.value)
    assert "does not fit squeezenet1.1" in text
    assert "it has no features.3.squeeze.weight;" in text
    assert "squeezenet1.1 has no features.99.weight" in text
    assert "features.0.bias (65,), expected (64,)" in text
    with pytest.raises(ModelFormatError, match=r"it has no conv1\.weight, bn1\.weight.* more"):
        mx.model_zoo.load_torch("resnet18", fitting(found))
    with pytest.raises(ModelFormatError, match="it has no"):
        mx.model_zoo.load_torch("vgg11", fitting({}))
    with pytest.raises(ModelFormatError, match=r"classifier\.1\.weight \(7, 512, 1, 1\)"):
        mx.model_zoo.load_torch("squeezenet1_1", fitting(state("squeezenet1_1")), classes=9)


@pytest.mark.parametrize("name", ["resnet50_v1", "resnet20", 3, None])
def test_networks_of_other_forms_are_refused(name: Any, fitting: Any) -> None:
    with pytest.raises(ValueError, match="parameters are not known for"):
        mx.model_zoo.load_torch(name, fitting({}))


def test_networks_in_torch_form_are_in_the_zoo() -> None:
    for name in ("resnet18_v1b", "resnet50_v1b", "mobilenetv2b"):
        net = vision.get_model(name, classes=4)
        net.initialize(mx.init.Xavier())
        assert net(mx.nd.ones((2, 3, 64, 64))).shape == (2, 4)
        with pytest.raises(ValueError, match="not available"):
            vision.get_model(name, pretrained=True)
    assert vision.mobilenet_v2b(0.25).features[0][0]._channels == 8
    with pytest.raises(AssertionError, match="layers: 20"):
        vision.get_resnet_v1b(20)
    with pytest.raises(AssertionError, match="expected channels before"):
        vision.ResNetV1b(vision.BasicBlockV1b, [1], [8])
