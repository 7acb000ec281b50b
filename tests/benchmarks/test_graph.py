"""What the converters of the benchmarks read in a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from benchmarks.graph import (
    Graph,
    Node,
    Unsupported,
    join_attention,
    lstm_layers,
    plain_reshape,
    read_graph,
)
from benchmarks.models import MODELS, Files
from benchmarks.prepare import draw
from benchmarks.to_bound import ordered_parameters


def test_reads_a_symbol(tmp_path: Path) -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 1), num_filter=2, no_bias=True, name="conv")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm")
    files = Files(tmp_path, "any")
    net.save(str(files.symbol))
    names = ["conv_weight", "norm_gamma", "norm_beta", "norm_moving_mean", "norm_moving_var"]
    arrays: dict[str, Any] = {name: np.zeros(i + 1) for i, name in enumerate(reversed(names))}
    np.savez(files.arrays, **arrays)
    graph = read_graph(files)
    assert [(node.op, node.name) for node in graph.nodes] == [("Convolution", "conv"),
                                                              ("BatchNorm", "norm")]
    assert graph.nodes[0].pair("kernel", 1) == (3, 1)
    assert graph.nodes[0].pair("stride", 1) == (1, 1)
    assert graph.output == "norm"
    assert [name for name, _ in ordered_parameters(graph)] == names


def node(op: str, name: str, *inputs: str, **attrs: Any) -> Node:
    return Node(op, name, attrs, inputs)


@pytest.mark.parametrize(("shape", "plain"), [
    ((0, 0, -4, 4, -1), (0, 0, 4, -1)), ((0, 0, -3), (0, 0, -1)), ((-1, 7), (-1, 7))])
def test_plain_reshape(shape: tuple[int, ...], plain: tuple[int, ...]) -> None:
    assert plain_reshape(node("Reshape", "r", "x", shape=shape)) == plain


@pytest.mark.parametrize("shape", [(-3, 0, 0), (-2,), (-4, -1, 2, -1)])
def test_other_reshapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(Unsupported, match="Reshape r: shape"):
        plain_reshape(node("Reshape", "r", "x", shape=shape))


def test_attention_becomes_one_node() -> None:
    merged = [node("Reshape", name + "3", name, shape=(-3, 0, 0)) for name in "qkv"]
    graph = Graph([
        *merged,
        node("_mul_scalar", "scaled", "q3", scalar=0.125),
        node("batch_dot", "scores", "scaled", "k3", transpose_b=True),
        node("softmax", "weights", "scores", axis=-1),
        node("batch_dot", "mixed", "weights", "v3"),
        node("Reshape", "out", "mixed", shape=(-4, -1, 4, 0, 0)),
        node("transpose", "turned", "out", axes=(0, 2, 1, 3)),
    ], {}, "turned")
    joined = join_attention(graph)
    assert [n.name for n in joined.nodes] == ["out", "turned"]
    assert joined.nodes[0] == node("attention", "out", "q", "k", "v", scale=0.125)


def test_lstm_parameters_in_their_order() -> None:
    size, width = 2, 3
    parts = [(8, width), (8, size), (8, size), (8, size), (8,), (8,), (8,), (8,)]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in parts]
    rnn = node("RNN", "rnn", "data", "packed", mode="lstm", num_layers=2, state_size=size)
    packed = np.concatenate([array.ravel() for array in arrays])
    first, second = lstm_layers(rnn, Graph([rnn], {"packed": packed}, "rnn"))
    for layer, wanted in ((first, (0, 1, 4, 5)), (second, (2, 3, 6, 7))):
        found = (layer.from_input, layer.from_hidden, layer.input_bias, layer.hidden_bias)
        for got, i in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, arrays[i])


@pytest.mark.parametrize("name", [n for n, m in MODELS.items()
                                  if m.zoo in mx.model_zoo.symbols.names()])
def test_shapes_are_those_of_the_symbol(name: str) -> None:
    model = MODELS[name]
    net = mx.model_zoo.symbols.get_symbol(model.zoo)
    _, outputs, _ = net.infer_shape(**model.shapes(3))
    assert outputs[0] == tuple(3 if size == -1 else size for size in model.output)


def test_weights_are_drawn_by_name() -> None:
    rng = np.random.default_rng(0)
    weight = draw("conv0_weight", (8, 4, 3, 3), rng).reshape(8, -1)
    np.testing.assert_allclose(weight.sum(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(weight.std(), (2 / 36) ** 0.5, rtol=0.2)
    assert abs(draw("bn_gamma", (100,), rng).mean() - 1) < 0.1
    assert abs(draw("bn_beta", (100,), rng).mean() - 0.5) < 0.1
    assert abs(draw("fc_bias", (100,), rng).mean()) < 0.1
    assert abs(draw("word_weight", (100, 8), rng).std() - 1) < 0.1
