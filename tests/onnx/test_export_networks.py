"""Whole networks as ONNX models: they give what the networks give, for any batch size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.gluon import nn, rnn
from ndarray_rt.gluon.model_zoo import vision

from .exported import check_block, check_symbol, flat, same_as

SMALL = ("resnet18_v1", "resnet18_v1b", "resnet18_v2", "mobilenet0_25", "mobilenet_v2_0_25",
         "squeezenet1_1")
LARGE = (
    "alexnet", "densenet121", "densenet161", "densenet169", "densenet201", "inception_v3",
    "mobilenet0_5", "mobilenet0_75", "mobilenet1_0", "mobilenet_v2_0_5", "mobilenet_v2_0_75",
    "mobilenet_v2_1_0", "mobilenet_v2b", "squeezenet1_0",
    *(f"resnet{depth}_{form}" for depth in (34, 50, 101, 152) for form in ("v1", "v1b", "v2")),
    *(f"vgg{depth}{form}" for depth in (11, 13, 16, 19) for form in ("", "_bn")))


class Draw:
    """Random numbers of one test alone: a test that fails gives the same ones when it is repeated,
    by itself too."""

    def __init__(self, seed: int = 5) -> None:
        mx.random.seed(seed)  # of initializers
        self.source = np.random.default_rng(seed)

    def normal(self, *shape: int) -> np.ndarray:
        return self.source.normal(size=shape).astype(np.float32)

    def words(self, *shape: int) -> np.ndarray:
        return self.source.integers(0, 50, shape).astype(np.float32)

    def fill(self, net: Any, *shape: int) -> Any:
        """The network with values for all parameters, and running means and variances as after
        training."""
        net.initialize(mx.init.Xavier(magnitude=2))
        net(mx.nd.zeros(shape))
        for param in net.collect_params().values():
            if "running_mean" in param.name:
                param.set_data(mx.nd.array(self.normal(*param.shape) * 0.1))
            elif "running_var" in param.name:
                param.set_data(mx.nd.array(self.source.uniform(0.7, 1.5, param.shape)))
        return net


@pytest.fixture
def draw() -> Draw:
    return Draw()


def test_networks_are_the_same_whenever_a_test_runs() -> None:
    """Whatever has drawn numbers before."""
    made = []
    for _ in range(2):
        mx.nd.random.uniform(shape=(7,))
        net = Draw().fill(vision.mobilenet0_25(classes=10), 1, 3, 64, 64)
        made.append([param.data().asnumpy() for param in net.collect_params().values()])
    for first, second in zip(*made, strict=True):
        np.testing.assert_array_equal(first, second)


def check_picture_network(name: str, draw: Draw) -> None:
    side = {"inception_v3": 299}.get(name, 64 if name.startswith("resnet") else 224)
    net = draw.fill(getattr(vision, name)(classes=10), 1, 3, side, side)
    model = check_block(net, [(None, 3, side, side)],
                        [[draw.normal(n, 3, side, side)] for n in (1, 2)])
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


@pytest.mark.parametrize("name", SMALL)
def test_zoo(name: str, draw: Draw) -> None:
    check_picture_network(name, draw)


@pytest.mark.slow("34 networks of full size")
@pytest.mark.parametrize("name", LARGE)
def test_rest_of_the_zoo(name: str, draw: Draw) -> None:
    check_picture_network(name, draw)


def test_lenet_of_each_operator_set(draw: Draw) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(6, 5, activation="tanh"), nn.AvgPool2D(2), nn.Conv2D(8, 3), nn.PReLU(),
            nn.MaxPool2D(2, ceil_mode=True), nn.Flatten(), nn.Dropout(0.5),
            nn.Dense(16, activation="softrelu"), nn.BatchNorm(), nn.Dense(10))
    draw.fill(net, 1, 1, 28, 28)
    for opset in range(13, 22):
        model = check_block(net, [(None, 1, 28, 28)], [[draw.normal(3, 1, 28, 28)]], opset=opset)
        assert model.opset_import[0].version == opset


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["relu", "tanh", "LSTM", "GRU"])
def test_recurrent_layers(kind: str, bidirectional: bool, layers: int, draw: Draw) -> None:
    """Steps and batch are free; states begin with zeros."""
    options: dict[str, Any] = {"num_layers": layers, "bidirectional": bidirectional,
                               "input_size": 5, "layout": "NTC" if layers == 2 else "TNC"}
    net = (rnn.RNN(7, activation=kind, **options) if kind in ("relu", "tanh") else
           getattr(rnn, kind)(7, **options))
    net.initialize(mx.init.Normal(0.4))
    for param in net.collect_params().values():
        param.set_data(mx.nd.array(draw.normal(*param.shape) * 0.3))
    check_block(net, [("a", "b", 5)], [[draw.normal(4, 3, 5)], [draw.normal(9, 1, 5)]])


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers_with_states_and_lengths(kind: str, draw: Draw) -> None:
    net = getattr(rnn, kind)(7, num_layers=2, bidirectional=True, input_size=5,
                             use_sequence_length=True)
    net.initialize(mx.init.Normal(0.4))
    net.hybridize()
    count = len(net.begin_state(3))
    states = [draw.normal(4, 3, 7) for _ in range(count)]
    lengths = np.array([2, 6, 4], np.float32)
    net(mx.nd.zeros((6, 3, 5)), [mx.nd.array(s) for s in states], mx.nd.array(lengths))
    model = mx.onnx.export(net, shapes=[("t", "b", 5), *[(4, "b", 7)] * count, ("b",)])
    def run(x: np.ndarray, *rest: np.ndarray) -> list[np.ndarray]:
        *given, length = [mx.nd.array(s) for s in rest]
        return flat(net(mx.nd.array(x), given, length))
    same_as(model, run, [[draw.normal(6, 3, 5), *states, lengths]])


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_bert_of_the_zoo(opset: int, draw: Draw) -> None:
    net = mx.model_zoo.symbols.bert.bert_encoder(layers=2, hidden=32, heads=4, length=12,
                                                 vocabulary=50)
    check_symbol(net, {"data": (None, 12)}, [[draw.words(2, 12)], [draw.words(3, 12)]], opset=opset)


def interleaved_encoder(heads: int = 4, layers: int = 2) -> Any:
    """An encoder with a mask, on projections that are kept together; any length up to 40."""
    sym = mx.sym
    data = sym.var("data")
    x = sym.Embedding(data, input_dim=50, output_dim=32, name="word")
    steps = sym.contrib.arange_like(data, axis=1)
    positions = sym.take(sym.var("pos_weight", shape=(40, 32)), steps)
    x = sym.LayerNorm(sym.broadcast_add(x, sym.expand_dims(positions, axis=0)), name="ln")
    x = sym.transpose(x, axes=(1, 0, 2))
    mask = sym.broadcast_lesser(sym.reshape(steps, shape=(1, 1, -1)),
                                sym.reshape(sym.var("length"), shape=(-1, 1, 1)))
    mask = sym.repeat(mask, repeats=heads, axis=0)
    for i in range(layers):
        qkv = sym.FullyConnected(x, num_hidden=96, flatten=False, name=f"qkv{i}")
        scores = sym.contrib.interleaved_matmul_selfatt_qk(qkv, heads=heads)
        scores = sym.where(sym.broadcast_like(mask, scores), scores, sym.ones_like(scores) * -1e9)
        weights = sym.Dropout(sym.softmax(scores, axis=-1), p=0.1)
        mixed = sym.contrib.interleaved_matmul_selfatt_valatt(qkv, weights, heads=heads)
        mixed = sym.FullyConnected(mixed, num_hidden=32, flatten=False, name=f"o{i}")
        x = sym.LayerNorm(x + mixed, name=f"lna{i}")
        y = sym.LeakyReLU(sym.FullyConnected(x, num_hidden=64, flatten=False, name=f"f{i}"),
                          act_type="gelu")
        x = sym.LayerNorm(x + sym.FullyConnected(y, num_hidden=32, flatten=False, name=f"g{i}"),
                          name=f"lnb{i}")
    head = sym.squeeze(sym.slice_axis(x, axis=0, begin=0, end=1), axis=0)
    return sym.Group([sym.transpose(x, axes=(1, 0, 2)),
                      sym.tanh(sym.FullyConnected(head, num_hidden=32, name="pool"))])


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_encoder_of_interleaved_attention(opset: int, draw: Draw) -> None:
    """Batch and length are free."""
    calls = [[draw.words(2, 6), np.array([3, 6], np.float32)],
             [draw.words(3, 11), np.array([11, 1, 5], np.float32)]]
    model = check_symbol(interleaved_encoder(), {"data": ("batch", "steps"), "length": ("batch",)},
                         calls, opset=opset)
    assert [info.name for info in model.graph.input] == ["data", "length"]
