"""ONNX models as symbols, and MXNet's names for reading and writing them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError, Unsupported
from ndarray_rt.gluon import nn
from ndarray_rt.gluon.model_zoo import vision

from .exported import same_as
from .helpers import model_of

X = np.random.default_rng(1).normal(size=(2, 3, 32, 32)).astype(np.float32)


@pytest.fixture
def network(tmp_path: Path) -> tuple[Any, Path]:
    """A network that has run, and its ONNX file."""
    net = vision.resnet18_v1(classes=4)
    net.initialize(mx.init.Xavier())
    net(mx.nd.array(X))
    path = tmp_path / "net.onnx"
    mx.onnx.export(net, path=path, shapes=[(None, 3, 32, 32)])
    return net, path


def test_import_model(network: tuple[Any, Path], tmp_path: Path) -> None:
    """Names and values of parameters come back, each is its own, and the symbol can be saved."""
    net, path = network
    symbol, args, aux = mx.contrib.onnx.import_model(str(path))
    expected = {param.name: param.data().asnumpy() for param in net.collect_params().values()}
    weights = {name for name in expected if name.endswith("weight")}
    assert weights <= set(args)
    assert len(args) + len(aux) == len(expected)
    assert {name for name in aux if name.endswith(("running_mean", "running_var"))}
    for name in weights:
        np.testing.assert_array_equal(args[name].asnumpy(), expected[name])
    assert set(symbol.list_arguments()) == {*args, "data"}
    mx.model.save_checkpoint(str(tmp_path / "again"), 0, symbol, args, aux)
    symbol, args, aux = mx.model.load_checkpoint(str(tmp_path / "again"), 0)
    for count in (1, 2):
        x = mx.nd.array(X[:count])
        made = symbol.bind(mx.cpu(), {**args, "data": x}, aux_states=aux, grad_req="null").forward()
        np.testing.assert_allclose(made[0].asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-5)


def test_import_to_gluon_and_train(network: tuple[Any, Path]) -> None:
    net, path = network
    block = mx.contrib.onnx.import_to_gluon(str(path), mx.cpu())
    x = mx.nd.array(X)
    np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-5)
    with mx.autograd.record():
        loss = block(x).sum()
    loss.backward()
    grads = [p.grad() for p in block.collect_params().values() if p.grad_req != "null"]
    assert any(np.abs(grad.asnumpy()).max() > 0 for grad in grads)


def test_metadata(network: tuple[Any, Path]) -> None:
    path = network[1]
    assert mx.contrib.onnx.get_model_metadata(str(path)) == {
        "input_tensor_data": [("data", (0, 3, 32, 32), onnx.TensorProto.FLOAT)],
        "output_tensor_data": [(mx.onnx.load(path).outputs[0].name, (0, 4))]}


@pytest.mark.parametrize(("text", "reason"), [
    ("net (float[n] x) => (int64[m, k] y) { y = NonZero(x) }", "depend on data"),
    ("net (int64[n] x) => (int64[n] y) { y = Add(x, x) }", "computed by NumPy:\n  Add"),
    ("net (float[n] x) => (float[n] y, int64[1] s) { y = Exp(x) s = Shape(x) }",
     "output 's' is no result of an operator"),
    ("net (float[n, 4] x) => (float[n, 4] y) { s = Shape(x) f = Cast<to = 1>(s) "
     "z = ReduceSum(f) y = Mul(x, z) }", "another one for other sizes"),
])
def test_models_that_are_no_single_graph(text: str, reason: str) -> None:
    with pytest.raises(Unsupported) as raised:
        mx.contrib.onnx.import_model(model_of(text))
    assert reason in str(raised.value)


# ---- whole numbers in front --------------------------------------------------------------------

BYTES = """net (int32[n, 24] bytes) => (float[n, 5] y) {
    all = Constant<value = int32[1, 1, 4] {0, 1, 2, 3}>()
    column = Constant<value = int64[3] {0, 24, 1}>()
    first = Reshape(bytes, column)
    same = Equal(first, all)
    hot = Cast<to = 1>(same)
    rows = MatMul(hot, table)
    turned = Transpose<perm = [0, 2, 1]>(rows)
    axis = Constant<value = int64[1] {3}>()
    image = Unsqueeze(turned, axis)
    conv = Conv<kernel_shape = [5, 1]>(image, filters)
    most = GlobalMaxPool(conv)
    flat = Flatten(most)
    y = MatMul(flat, weight)
}"""
DRAWN = np.random.default_rng(8)


@pytest.fixture(scope="module")
def bytes_model() -> Any:
    """A network over the rows of a table that whole numbers name."""
    made = model_of(BYTES)
    for name, shape in (("table", (4, 32)), ("filters", (128, 32, 5, 1)), ("weight", (128, 5))):
        made.graph.initializer.append(onnx.numpy_helper.from_array(
            DRAWN.normal(size=shape).astype(np.float32), name))
    return made


def test_whole_numbers_in_front_belong_to_the_graph(bytes_model: Any, tmp_path: Path) -> None:
    symbol, args, aux = mx.contrib.onnx.import_model(bytes_model)
    model = mx.onnx.load(bytes_model)
    for count in (1, 3):
        x = DRAWN.integers(-1, 5, (count, 24)).astype(np.int32)
        given = {**args, "bytes": mx.nd.array(x, dtype="int32")}
        got = symbol.bind(mx.cpu(), given, aux_states=aux, grad_req="null").forward()[0]
        np.testing.assert_allclose(got.asnumpy(), model(x)[0], rtol=1e-4, atol=1e-4)
    made, params, states, report = mx.contrib.quantization.quantize_with_report(
        symbol, args, aux, {"bytes": x})
    assert {layer.operator for layer in report.layers} == {"Convolution", "FullyConnected"}
    assert report.decibels > 30
    path = mx.onnx.export(made, (params, states), tmp_path / "small.onnx",
                          shapes={"bytes": ("n", 24)}, dtypes={"bytes": np.int32})
    written = mx.onnx.load(path)(x)[0]
    want = model(x)[0]
    assert np.linalg.norm(written - want) < 0.05 * np.linalg.norm(want)


def test_batch_sizes_share_weights_under_another_shape(bytes_model: Any) -> None:
    """A filter of one column is read as one of one row."""
    model = mx.onnx.load(bytes_model)
    counts = []
    for count in (1, 3, 4):
        model(DRAWN.integers(0, 4, (count, 24)).astype(np.int32))
        counts.append(model._loaded.constants.count)
    assert counts == counts[:1] * 3


def test_a_cast_belongs_to_the_graph() -> None:
    symbol, args, aux = mx.contrib.onnx.import_model(model_of(
        "net (int64[n] x) => (float[n] y) { y = Cast<to = 1>(x) }"))
    assert not args
    assert not aux
    x = np.array([-3, 0, 2**40], np.int64)
    made = symbol.bind(mx.cpu(), {"x": mx.nd.array(x, dtype="int64")}, grad_req="null").forward()
    np.testing.assert_array_equal(made[0].asnumpy(), x.astype(np.float32))


# ---- export_model ------------------------------------------------------------------------------


def dense() -> tuple[Any, dict[str, Any]]:
    data = mx.sym.var("data")
    made = mx.sym.FullyConnected(mx.sym.sum(data, axis=2), num_hidden=3, name="fc")
    return made, {"fc_weight": mx.nd.ones((3, 5)), "fc_bias": mx.nd.zeros((3,))}


def sizes(path: Any) -> list[Any]:
    dims = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    return [dim.dim_param or dim.dim_value for dim in dims]


@pytest.mark.parametrize(("options", "expected"), [
    ({}, [2, 5, 4]), ({"dynamic": True}, ["batch", 5, "data_2"]),
    ({"dynamic": True, "dynamic_input_shapes": [(None, 5, "Any")]}, ["batch", 5, "Any"]),
    ({"input_shape": [(7, 5, 4)], "input_type": np.float32}, [7, 5, 4]),
    ({"run_shape_inference": True, "verbose": True}, [2, 5, 4]),
])
def test_export_model(options: dict[str, Any], expected: list[Any], tmp_path: Path) -> None:
    symbol, params = dense()
    path = str(tmp_path / "made.onnx")
    for export_model in (mx.onnx.export_model, mx.contrib.onnx.export_model):
        assert export_model(symbol, params, [(2, 5, 4)], onnx_file_path=path, **options) == path
        assert sizes(path) == expected
    x = np.ones([size if isinstance(size, int) else 2 for size in expected], np.float32)
    same_as(onnx.load(path), lambda x: [np.repeat(x.sum((1, 2))[:, None], 3, 1)], [[x]])


def test_export_model_of_files(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=4))
    net.initialize()
    net.hybridize()
    x = np.ones((2, 4), np.float32)
    expected = net(mx.nd.array(x)).asnumpy()
    net.export(str(tmp_path / "net"))
    path = mx.onnx.export_model(str(tmp_path / "net-symbol.json"),
                                str(tmp_path / "net-0000.params"), [(2, 4)], np.float32,
                                str(tmp_path / "net.onnx"))
    same_as(onnx.load(path), lambda x: [expected], [[x]])


def test_export_model_refuses() -> None:
    symbol, params = dense()
    with pytest.raises(ParameterError, match="in_shapes is None"):
        mx.onnx.export_model(symbol, params)
    with pytest.raises(ParameterError, match="in_types got"):
        mx.onnx.export_model(symbol, params, [(2, 5, 4)], [np.float32] * 2)


def test_operator_support() -> None:
    found = mx.onnx.get_operator_support()
    assert {"Convolution", "RNN", "broadcast_add"} <= set(found)
    assert found == mx.onnx.get_operator_support(13)
    with pytest.raises(ParameterError, match="opset_version got 12"):
        mx.onnx.get_operator_support(12)
