"""Networks as symbols: gluon's nodes, names and shapes, and a run of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import NameMismatch
from ndarray_rt.model_zoo import symbols

from .make_golden import describe

GOLDEN: dict[str, Any] = json.loads(
    Path(__file__).with_name("gluon.json").read_text(encoding="utf-8"))


def size_of(name: str) -> int:
    return 299 if name == "inceptionv3" else 224


@pytest.mark.parametrize("name", GOLDEN)
def test_equals_gluons(name: str) -> None:
    """The same operators under the same names, the same parameters of the same shapes."""
    assert describe(symbols.get_symbol(name), size_of(name)) == GOLDEN[name]


def run(net: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Scores of a net with small random weights."""
    executor = net.simple_bind(mx.cpu(), data=shape, grad_req="null")
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        if name == "data":
            array[:] = rng.uniform(-1, 1, shape)
        elif name.endswith("gamma"):
            array[:] = 1
        else:
            fan = max(1, int(np.prod(array.shape[1:])))
            array[:] = rng.standard_normal(array.shape) * np.sqrt(2.0 / fan)
    for name, array in executor.aux_dict.items():
        array[:] = 1 if name.endswith("var") else 0
    found: np.ndarray[Any, Any] = executor.forward()[0].asnumpy()
    assert np.isfinite(found).all()
    assert found.std() > 0
    return found


SMALL = ("resnet18_v1", "resnet18_v2", "mobilenet0.25", "mobilenetv2_0.25", "squeezenet1.1",
         "densenet121", "googlenet", "alexnet")


@pytest.mark.parametrize("name", SMALL)
def test_runs(name: str) -> None:
    """Scores are those of numpy alone."""
    net = symbols.get_symbol(name, classes=10)
    size = 64 if name.startswith(("resnet", "mobilenet")) else 224
    with config.override(NDRT_ONEDNN=False):
        want = run(net, (1, 3, size, size))
    assert want.shape == (1, 10)
    got = run(net, (1, 3, size, size))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize(("name", "shape"), [("lenet", (2, 1, 28, 28)), ("mlp", (2, 784))])
def test_small_networks_run(name: str, shape: tuple[int, ...]) -> None:
    assert run(symbols.get_symbol(name), shape).shape == (2, 10)


def test_lstm() -> None:
    """The arguments are those of the model that MXNet was measured with; numpy's numbers."""
    net = symbols.get_symbol("lstm", state_size=24)
    assert net.list_arguments() == ["data", "rnn_parameters", "rnn_state", "rnn_state_cell"]
    full = symbols.get_symbol("lstm").infer_shape(data=(64, 16, 512))
    assert full[0] == [(64, 16, 512), (4 * 512 * (2 * 512 + 2) * 2,), (2, 16, 512), (2, 16, 512)]
    assert full[1] == [(64, 16, 512)]
    with config.override(NDRT_ONEDNN=False):
        want = run(net, (5, 2, 24))
    np.testing.assert_allclose(run(net, (5, 2, 24)), want, rtol=1e-4, atol=1e-5)


def test_input_can_be_a_symbol() -> None:
    net = symbols.get_symbol("lenet", data=mx.sym.Variable("image") * 2)
    assert net.list_arguments()[0] == "image"


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(NameMismatch, match=r"no model 'resnet51'.*resnet50_v1"):
        symbols.get_symbol("resnet51")
    assert set(GOLDEN) <= set(symbols.names())


@pytest.mark.parametrize("name", ["resnet50_v1", "resnet18_v2", "mobilenetv2_0.25", "googlenet",
                                  "squeezenet1.1", "densenet121", "vgg11_bn"])
def test_another_batch_runs_no_pass_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net = symbols.get_symbol(name, classes=10)
    size = 224 if name in ("squeezenet1.1", "densenet121", "googlenet") else 64
    executor = net.simple_bind(mx.cpu(), data=(2, 3, size, size), grad_req="null")
    for array in {**executor.arg_dict, **executor.aux_dict}.values():
        array[:] = 0.01
    executor.forward()

    def never(*args: Any) -> None:
        raise AssertionError("a pass runs again")
    monkeypatch.setattr("ndarray_rt.executor.program.inference.optimize", never)
    rebound = executor.reshape(allow_up_sizing=True, data=(3, 3, size, size))
    rebound.arg_dict["data"][:] = 0.01
    np.testing.assert_allclose(rebound.forward()[0].asnumpy()[:2], executor.forward()[0].asnumpy(),
                               rtol=1e-4)
