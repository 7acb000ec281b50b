"""Fused layers: graphs, files and results of MXNet's backends MKLDNN and MKLDNN_QUANTIZE."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.contrib import quantization
from ndarray_rt.errors import ModelFormatError, MXNetError, ParameterError
from tests.data.make_mxnet_fused_layers import (
    FILE,
    NETWORKS,
    OPTIONS,
    SHAPE,
    inputs,
    parameters,
    quantized,
    samples,
)

WANTED: dict[str, Any] = json.loads(FILE.read_text())


def plain(graph: Any, is_inside: bool = False) -> Any:
    """A graph without names of variables inside of nodes and how often they are written to, and
    with ranges as numbers."""
    graph = json.loads(graph.tojson()) if isinstance(graph, mx.sym.Symbol) else graph
    rows = []
    for node in graph["nodes"]:
        name = "" if is_inside and node["op"] == "null" else node["name"]
        attrs = {key: round(float(value), 4) + 0.0 if key.endswith("_range") else value
                 for key, value in node.get("attrs", {}).items()}
        rows.append([node["op"], name, attrs, [entry[:2] for entry in node["inputs"]],
                     [plain(inner, True) for inner in node.get("subgraphs", [])]])
    return [rows, [head[:2] for head in graph["heads"]]]


def arrays(params: dict[str, Any]) -> dict[str, Any]:
    return {name: np.array(values, dtype).reshape(shape)
            for name, (dtype, shape, values) in params.items()}


# ---- as MXNet -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["MKLDNN", "MKLDNN_QUANTIZE"])
@pytest.mark.parametrize("name", NETWORKS)
def test_graphs_equal_mxnets(name: str, backend: str) -> None:
    made = NETWORKS[name](mx).get_backend_symbol(backend)
    assert plain(made) == plain(WANTED["graphs"][f"{name} {backend}"])


def test_optimize_for_is_another_way_to_ask() -> None:
    made = NETWORKS["residual"](mx).optimize_for("MKLDNN_QUANTIZE")
    assert plain(made) == plain(WANTED["graphs"]["residual MKLDNN_QUANTIZE"])


@pytest.mark.parametrize("name", WANTED["quantized"])
def test_quantized_graphs_and_parameters_equal_mxnets(name: str) -> None:
    want = WANTED["quantized"][name]
    symbol, params, _ = quantized(mx, quantization, *name.split(", "))
    assert plain(symbol) == plain(want["graph"])
    assert params.keys() == want["params"].keys()
    for key, value in arrays(want["params"]).items():
        assert params[key].dtype == value.dtype
        np.testing.assert_allclose(params[key].asnumpy(), value, rtol=1e-6)


@pytest.mark.parametrize("name", WANTED["quantized"])
def test_mxnets_files_give_mxnets_numbers(name: str) -> None:
    """Bytes within one step, int32 as they are, floats to six digits."""
    want = WANTED["quantized"][name]
    graph = mx.sym.load_json(json.dumps(want["graph"])).get_internals()
    given = {key: mx.nd.array(value, dtype=value.dtype)
             for key, value in inputs(arrays(want["params"]), name.split(", ")[1]).items()}
    aux = {key: mx.nd.array(value) for key, value in want["aux"].items()}
    executor = graph.bind(mx.cpu(), given, aux_states=aux, grad_req="null")
    made = dict(zip(graph.list_outputs(), executor.forward(), strict=True))
    off = 0
    for key, (dtype, values) in want["outputs"].items():
        found = made[key].asnumpy()
        assert found.dtype == dtype, key
        if dtype in ("int8", "uint8"):
            difference = abs(found.astype(int) - np.array(values))
            assert difference.max() <= 1, key
            off += int((difference > 0).sum())
        elif dtype == "int32":
            np.testing.assert_array_equal(found, values, key)
        else:
            np.testing.assert_allclose(found, values, rtol=1e-5, atol=1e-6 if not off else 0.05,
                                       err_msg=key)
    assert off <= 2


# ---- on floats ----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["MKLDNN", "MKLDNN_QUANTIZE"])
@pytest.mark.parametrize("name", NETWORKS)
def test_fused_graphs_compute_the_same(name: str, backend: str) -> None:
    symbol = NETWORKS[name](mx)
    args, aux = parameters(mx, symbol)
    args["data"] = mx.nd.array(samples())
    before = symbol.tojson()
    made = symbol.get_backend_symbol(backend)
    assert symbol.tojson() == before
    want, found = (graph.bind(mx.cpu(), args, aux_states=aux, grad_req="null").forward()
                   for graph in (symbol, mx.sym.load_json(made.tojson())))
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)
    kept = {key: value.asnumpy().tolist() for key, value in aux.items()}
    made.bind(mx.cpu(), args, aux_states=aux, grad_req="null").forward(is_train=True)
    assert {key: value.asnumpy().tolist() for key, value in aux.items()} == kept


def conv(name: str, **more: Any) -> Any:
    return mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=3, name=name, **more)


def relu(x: Any) -> Any:
    return mx.sym.Activation(x, act_type="relu")


def fused(*heads: Any) -> list[str]:
    graph = mx.sym.Group(list(heads)).get_backend_symbol("MKLDNN")
    return [row[1] for row in plain(graph)[0] if row[0].startswith("_sg")]


def test_what_others_read_too_is_not_fused() -> None:
    norm = mx.sym.BatchNorm(conv("c"), name="n")
    assert fused(relu(norm)) == ["sg_mkldnn_conv_bn_act_0"]
    assert fused(relu(norm), mx.sym.tanh(norm)) == ["sg_mkldnn_conv_bn_0"]
    assert fused(relu(norm), norm) == ["sg_mkldnn_conv_bn_0"]
    assert fused(norm + norm) == ["sg_mkldnn_conv_bn_0"]
    statistics = mx.sym.BatchNorm(conv("c"), output_mean_var=True, name="n")
    assert fused(statistics[0], statistics[1]) == ["sg_mkldnn_conv_0"]
    twice = conv("c")
    assert fused(mx.sym.BatchNorm(twice, axis=3)) == ["sg_mkldnn_conv_0"]
    assert fused(relu(mx.sym.elemwise_add(conv("a"), conv("b")))) == [
        "sg_mkldnn_conv_1", "sg_mkldnn_conv_add_act_0"]


def test_convolutions_over_lines_stay() -> None:
    line = mx.sym.Convolution(mx.sym.var("data"), kernel=(3,), num_filter=2, name="c")
    assert fused(line) == []


# ---- quantized ----------------------------------------------------------------------------------


def off(found: Any, want: Any) -> float:
    return float(np.linalg.norm(found.asnumpy() - want.asnumpy())
                 / np.linalg.norm(want.asnumpy()))


@pytest.mark.parametrize("options", [
    OPTIONS["naive"], OPTIONS["by rows"], {"calib_mode": "naive", "quantized_dtype": "int8"},
    {"calib_mode": "none", "quantize_granularity": "channel-wise"}], ids=str)
def test_quantized_networks_are_near_to_floats(options: dict[str, Any]) -> None:
    symbol = NETWORKS["residual"](mx)
    args, aux = parameters(mx, symbol)
    data = mx.io.NDArrayIter(data=samples(), batch_size=2)
    graph, params, states = quantization.quantize_model_mkldnn(
        symbol, args, aux, label_names=None, calib_data=data, quantize_mode="full", **options)
    x = mx.nd.array(samples())
    want = symbol.bind(mx.cpu(), {**args, "data": x}, aux_states=aux).forward()[0]
    found = graph.bind(mx.cpu(), {**params, "data": x}, aux_states=states,
                       grad_req="null").forward()[0]
    assert off(found, want) < 0.04


@pytest.mark.parametrize("act", ["gelu", "leaky"])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_what_mxnet_cuts_off_or_bends_is_computed(act: str, kind: str) -> None:
    """MXNet takes gelu of whole numbers, keeps a sum in the dtype of its summand whatever the dtype
    of the output, and cuts off what dense layers with leaky have below 0."""
    data = mx.sym.var("data")
    first = mx.sym.Convolution(data, kernel=(1, 1), num_filter=3, name="first")
    first = relu(first) if kind == "uint8" else first
    x = mx.sym.LeakyReLU(mx.sym.Convolution(first, kernel=(3, 3), pad=(1, 1), num_filter=3,
                                            name="second"), act_type=act)
    added = mx.sym.Convolution(x, kernel=(1, 1), num_filter=3, name="third") + first
    x = relu(added) if kind == "int8" else added
    x = mx.sym.LeakyReLU(mx.sym.FullyConnected(x, num_hidden=6, name="fc"), act_type=act)
    symbol = mx.sym.FullyConnected(x, num_hidden=3, name="last")
    args, aux = parameters(mx, symbol)
    pictures = mx.nd.array(samples())
    graph, params, _ = quantization.quantize_model_mkldnn(
        symbol, args, aux, label_names=None, calib_mode="naive", quantize_mode="full",
        calib_data=mx.io.NDArrayIter(pictures, batch_size=2), quantized_dtype="auto")
    want = symbol.bind(mx.cpu(), {**args, "data": pictures}).forward()[0]
    found = graph.bind(mx.cpu(), {**params, "data": pictures}, grad_req="null").forward()[0]
    assert off(found, want) < 0.03


def test_nodes_inside_and_fused_operators_can_be_excluded() -> None:
    symbol = NETWORKS["residual"](mx)
    args, aux = parameters(mx, symbol)
    exclusions: list[tuple[dict[str, Any], int]] = [
        ({"excluded_sym_names": ["bn1", "fc0"]}, 2),
        ({"excluded_op_names": ["_sg_mkldnn_conv"]}, 3)]
    for excluded, floats in exclusions:
        made = quantization.quantize_model_mkldnn(
            symbol, args, aux, label_names=None, calib_mode="none", **excluded)[0]
        rows = [row for row in plain(made)[0] if row[0].startswith("_sg")]
        assert len(rows) == 5
        assert sum("quantized" not in row[2] for row in rows) == floats


def test_ranges_go_into_layers() -> None:
    """A second time they find nothing to do."""
    symbol, _, _ = quantized(mx, quantization, "residual", "naive")
    assert "_contrib_requantize" not in {row[0] for row in plain(symbol)[0]}
    assert plain(symbol.get_backend_symbol("MKLDNN_QUANTIZE")) == plain(symbol)
    assert plain(symbol.get_backend_symbol("MKLDNN")) == plain(symbol)


def test_a_large_bias_keeps_away_from_the_ends_of_int32() -> None:
    """Weights are scaled down for it, as in MXNet."""
    for kind in ("conv", "dense", "rows"):
        data = mx.sym.var("data")
        symbol = (mx.sym.Convolution(data, kernel=(1, 1), num_filter=3, name="l") if kind == "conv"
                  else mx.sym.FullyConnected(data, num_hidden=3, name="l"))
        size = (3, 2, 1, 1) if kind == "conv" else (3, 2)
        args = {"l_weight": mx.nd.array(np.full(size, 1e-9)),
                "l_bias": mx.nd.array([1.0, -1.0, 0.0])}
        x = np.full((1, 2, 1, 1) if kind == "conv" else (1, 2), 1e-2, np.float32)
        graph, params, _ = quantization.quantize_model_mkldnn(
            symbol, args, {}, label_names=None, calib_mode="naive",
            calib_data=mx.io.NDArrayIter(x, batch_size=1),
            quantize_granularity="channel-wise" if kind == "rows" else "tensor-wise")
        found = graph.bind(mx.cpu(), {**params, "data": mx.nd.array(x)}).forward()[0]
        np.testing.assert_allclose(found.asnumpy().ravel(), [1, -1, 0], atol=0.01)


# ---- errors -------------------------------------------------------------------------------------


def test_backends_that_there_are_not() -> None:
    for name in ("TensorRT", None):
        with pytest.raises(MXNetError, match="there is no backend"):
            conv("c").get_backend_symbol(name)


def test_graphs_inside_that_are_no_fused_layer() -> None:
    graph = json.loads(conv("c").get_backend_symbol("MKLDNN").tojson())
    node = graph["nodes"][-1]
    changed = {**node, "attrs": {"with_bn": "true"}}
    with pytest.raises(ModelFormatError, match="with_bn got True, expected False from the graph"):
        mx.sym.load_json(json.dumps({**graph, "nodes": [*graph["nodes"][:-1], changed]}))
    inner = json.loads(mx.sym.tanh(mx.sym.var("x")).tojson())
    changed = {**node, "subgraphs": [inner]}
    with pytest.raises(ModelFormatError, match="a graph of tanh inside, expected Convolution and"):
        mx.sym.load_json(json.dumps({**graph, "nodes": [*graph["nodes"][:-1], changed]}))
    with pytest.raises(ParameterError, match="has no graphs"):
        mx.sym._internal._sg_mkldnn_conv()


def test_a_product_of_attention_of_other_heads() -> None:
    x = mx.sym.contrib.interleaved_matmul_selfatt_qk(mx.sym.var("x"), heads=2, name="qk")
    text = x.get_backend_symbol("MKLDNN").tojson().replace('"quantized": "False"', '"heads": "3"')
    with pytest.raises(ModelFormatError, match="heads got 3, expected 2 from the graph inside"):
        mx.sym.load_json(text)


def test_names_of_older_versions_are_read() -> None:
    graph = relu(conv("c")).get_backend_symbol("MKLDNN")
    text = graph.tojson().replace("with_act", "with_relu")
    made = mx.sym.load_json(text).entries[0].node.params
    assert made == graph.entries[0].node.params


def test_numbers_below_0_are_no_uint8() -> None:
    symbol = conv("c").get_backend_symbol("MKLDNN_QUANTIZE")
    weight = mx.nd.ones((3, 2, 1, 1))
    graph, params, _ = quantization.quantize_model(
        symbol, {"c_weight": weight, "c_bias": mx.nd.zeros(3)}, {}, label_names=None,
        calib_mode="none", quantized_dtype="uint8")
    with pytest.raises(MXNetError, match="data is uint8 and has a range from -2"):
        graph.bind(mx.cpu(), {**params, "data": -2 * mx.nd.ones((1, 2, *SHAPE[2:]))},
                   ).forward()[0].wait_to_read()
