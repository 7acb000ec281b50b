"""Quantized models as ONNX: layers between QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

import ndarray_rt as mx
from ndarray_rt.contrib import quantization
from ndarray_rt.errors import Unsupported
from tests.onnx.exported import bound
from tests.onnx.whole_graph import operators

RNG = np.random.default_rng(5)
PICTURES = (RNG.integers(-16, 17, (2, 6, 9, 8)) / 16).astype("f4")
POSITIVE = abs(PICTURES)
DATA = mx.sym.var("data")
STEPS = mx.sym.reshape(DATA, shape=(6, 2, 72))


def conv(x: Any, name: str, size: int = 3, **more: Any) -> Any:
    return mx.sym.Convolution(x, kernel=(size, size), pad=(size // 2,) * 2, num_filter=6,
                              name=name, **more)


def dense(x: Any, name: str, **more: Any) -> Any:
    return mx.sym.FullyConnected(x, num_hidden=4, name=name, **more)


def relu(x: Any) -> Any:
    return mx.sym.Activation(x, act_type="relu")


def norm(x: Any) -> Any:
    return mx.sym.BatchNorm(x, fix_gamma=False, name="norm")


def pool(x: Any, **more: Any) -> Any:
    # averages of 9 never lie between two steps
    return mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), **more)


NETWORKS: dict[str, Any] = {
    "convolution": conv(DATA, "a"), "no bias": conv(DATA, "a", no_bias=True),
    "norm, relu": relu(norm(conv(DATA, "a"))), "groups": conv(DATA, "a", num_group=3),
    "leaky": mx.sym.LeakyReLU(conv(DATA, "a"), slope=0.3), "clip": mx.sym.clip(conv(DATA, "a"),
                                                                              0, 1),
    "gelu": mx.sym.LeakyReLU(conv(DATA, "a"), act_type="gelu"),
    "sum": relu(mx.sym.elemwise_add(conv(DATA, "a"), conv(DATA, "b", 1))),
    "dense": dense(DATA, "a"), "dense, rows": dense(DATA, "a", flatten=False),
    "dense, function": mx.sym.abs(dense(mx.sym.Flatten(DATA), "a", no_bias=True)),
    "max": pool(conv(DATA, "a"), pool_type="max"), "avg": pool(conv(DATA, "a"), pool_type="avg"),
    "concat": mx.sym.concat(relu(conv(DATA, "a")), conv(DATA, "b", 1)),
    "two": dense(relu(conv(DATA, "a")), "b"),
    "product": mx.sym.elemwise_mul(conv(DATA, "a"), conv(DATA, "b", 1)),
    "attention": mx.sym.contrib.interleaved_matmul_selfatt_valatt(
        STEPS, mx.sym.softmax(mx.sym.contrib.interleaved_matmul_selfatt_qk(STEPS, heads=4)),
        heads=4)}
WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "fused": (quantization.quantize_model_mkldnn, {}),
    "fused, by rows": (quantization.quantize_model_mkldnn,
                       {"quantize_granularity": "channel-wise"}),
    "node by node": (quantization.quantize_model, {"quantized_dtype": "int8"})}


def quantized(symbol: Any, way: str, data: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    shapes, _, aux_shapes = symbol.infer_shape(data=data.shape)
    rng = np.random.default_rng(6)

    def drawn(names: list[str], given: Any) -> dict[str, Any]:
        return {name: mx.nd.array(abs(rng.normal(size=shape)) + 0.5
                                  if name.endswith(("var", "gamma")) else
                                  rng.normal(size=shape) / 4)
                for name, shape in zip(names, given, strict=True) if name != "data"}
    make, options = WAYS[way]
    return make(
        symbol, drawn(symbol.list_arguments(), shapes),
        drawn(symbol.list_auxiliary_states(), aux_shapes), label_names=None,
        quantize_mode="full", calib_mode="naive",
        calib_data=mx.io.NDArrayIter(data * 2, batch_size=2),
        **{"quantized_dtype": "auto", **options})


def near(got: Any, want: Any, model: Any) -> None:
    """Within one step of the output, and almost always the same."""
    end = next(node for node in model.graph.node if model.graph.output[0].name in node.output)
    if end.op_type == "DequantizeLinear":
        step, = (numpy_helper.to_array(tensor) for tensor in model.graph.initializer
                 if tensor.name == end.input[1])
        step = step * 1.01
    else:  # steps of the layers before
        step = abs(want).max() * 2.1 / 127
    assert got.shape == want.shape
    apart = abs(got - want)
    assert apart.max() <= step
    assert (apart > step / 4).mean() < 0.02


def by_runtime(model: Any, x: Any, level: str) -> tuple[Any, set[str]]:
    """What ONNX Runtime gives, and the operators that it runs."""
    import onnx
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = "optimized.onnx"
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    made, = session.run(None, {"data": x})
    return made, {node.op_type for node in onnx.load("optimized.onnx").graph.node}


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, way: str, kind: str, tmp_path: Any,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    """They give the same here, on 8-bit numbers, and in ONNX Runtime as the file has it: its 8-bit
    kernels add two products at 16 bits without VNNI."""
    monkeypatch.chdir(tmp_path)
    data = POSITIVE if kind == "uint8" else PICTURES
    symbol, args, aux = quantized(NETWORKS[name], way, data)
    model = mx.onnx.export(symbol, (args, aux), shapes={"data": data.shape})
    want, = bound(symbol, {**args, **aux}, ["data"])(data)
    loaded = mx.onnx.load(model)
    near(loaded(data)[0], want, model)
    rows = set(operators(loaded))
    assert not {"Convolution", "FullyConnected", "_fused_Convolution"} & rows
    assert name == "attention" or "_quantize_linear" in rows
    if find_spec("onnxruntime"):
        got, _ = by_runtime(model, data, "ORT_DISABLE_ALL")
        near(got, want, model)


def test_what_is_in_the_file() -> None:
    """Weights are int8 with a scale for each filter, biases int32; a batch of any size."""
    symbol, args, aux = quantized(NETWORKS["two"], "fused", POSITIVE)
    model = mx.onnx.export(symbol, (args, aux), shapes={"data": ("n", *POSITIVE.shape[1:])})
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {out: node for node in model.graph.node for out in node.output}
    convolution = next(node for node in model.graph.node if node.op_type == "Conv")
    _, weight, bias = (makers[name] for name in convolution.input)
    assert [tensors[name].data_type for name in weight.input] == [3, 1, 3]
    assert list(tensors[weight.input[1]].dims) == [6]
    assert [tensors[name].data_type for name in bias.input] == [6, 1]
    want, = bound(symbol, {**args, **aux}, ["data"])(POSITIVE[:1])
    near(mx.onnx.load(model)(POSITIVE[:1])[0], want, model)


def test_embeddings() -> None:
    """Rows of 8-bit weights."""
    data = mx.sym.var("data")
    network = dense(mx.sym.Embedding(data, input_dim=7, output_dim=5, name="rows"), "a")
    words = RNG.integers(0, 7, (4, 3)).astype("f4")
    symbol, args, aux = quantized(network, "node by node", words)
    assert "_contrib_quantized_embedding" in symbol.tojson()
    model = mx.onnx.export(symbol, (args, aux), shapes={"data": words.shape})
    want, = bound(symbol, {**args, **aux}, ["data"])(words)
    near(mx.onnx.load(model)(words)[0], want, model)


def test_norms_between_layers() -> None:
    """Normalization of 8-bit numbers is a factor and a summand of each channel."""
    network = norm(pool(conv(DATA, "a"), pool_type="max"))
    symbol, args, aux = quantized(network, "node by node", PICTURES)
    assert "_contrib_quantized_batch_norm" in symbol.tojson()
    model = mx.onnx.export(symbol, (args, aux), shapes={"data": PICTURES.shape})
    want, = bound(symbol, {**args, **aux}, ["data"])(PICTURES)
    near(mx.onnx.load(model)(PICTURES)[0], want, model)


@pytest.mark.skipif(not find_spec("onnxruntime"), reason="needs ONNX Runtime")
@pytest.mark.parametrize("data", [POSITIVE, PICTURES], ids=["uint8", "int8"])
@pytest.mark.parametrize("way", WAYS)
def test_onnx_runtime_takes_its_kernels_of_8_bits(way: str, data: Any, tmp_path: Any,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    network = dense(pool(relu(conv(DATA, "a")), pool_type="max"), "b")
    symbol, args, aux = quantized(network, way, data)
    model = mx.onnx.export(symbol, (args, aux), shapes={"data": data.shape})
    _, found = by_runtime(model, data, "ORT_ENABLE_ALL")
    assert {"QLinearConv", "QGemm"} <= found
    assert not {"Conv", "Gemm", "FusedConv"} & found


def test_a_block() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3, in_channels=6, activation="relu"),
            mx.gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(POSITIVE)
    net(x)
    made = quantization.quantize_net(
        net, calib_mode="naive", quantized_dtype="auto",
        calib_data=mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x), 2))
    model = mx.onnx.export(made, shapes=[("n", *POSITIVE.shape[1:])])
    near(mx.onnx.load(model)(POSITIVE)[0], made(x).asnumpy(), model)


def test_ranges_that_only_a_run_knows() -> None:
    """All nodes that have no form are told, and none because of another one."""
    symbol, args, aux = quantization.quantize_model_mkldnn(
        NETWORKS["two"], {"a_weight": mx.nd.ones((6, 6, 3, 3)), "a_bias": mx.nd.zeros(6),
                          "b_weight": mx.nd.ones((4, 432)), "b_bias": mx.nd.zeros(4)}, {},
        label_names=None, calib_mode="none")
    with pytest.raises(Unsupported) as caught:
        mx.onnx.export(symbol, (args, aux), shapes={"data": PICTURES.shape})
    text = str(caught.value)
    assert "calibrate the model" in text
    assert '_contrib_quantize_v2 "data_quantize"' in text
    assert text.count("_contrib_requantize") == 2
