"""Dynamic quantization of dense layers: symbols, blocks, executors and models of ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, gluon
from ndarray_rt.contrib.quantization import quantize_dynamic
from ndarray_rt.errors import ParameterError, TypeMismatch
from ndarray_rt.gluon import nn

SHAPE = (5, 40)


def network() -> Any:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=33, name="fc0")
    x = mx.sym.Activation(x, act_type="relu", name="relu0")
    x = mx.sym.dot(x, mx.sym.var("w0"), name="dot0")
    x = mx.sym.dot(mx.sym.tanh(x), mx.sym.var("w1"), transpose_b=True, name="dot1")
    return mx.sym.FullyConnected(x, num_hidden=7, no_bias=True, name="fc1")


def parameters() -> dict[str, Any]:
    drawn = np.random.default_rng(0)
    shapes = {"fc0_weight": (33, 40), "fc0_bias": (33,), "w0": (33, 24), "w1": (18, 24),
              "fc1_weight": (7, 18)}
    return {name: mx.nd.array(drawn.standard_normal(shape) * 0.3)
            for name, shape in shapes.items()}


def data(seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)


def bound(symbol: Any, params: dict[str, Any]) -> Any:
    return symbol.bind(mx.cpu(), {**params, "data": mx.nd.zeros(SHAPE)}, grad_req="null")


def run(executor: Any) -> Any:
    return [executor.forward(data=data())[0] for _ in range(3)][-1].asnumpy()


def decibels(got: Any, want: Any) -> float:
    return float(10 * np.log10((want ** 2).sum() / ((got - want) ** 2).sum()))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "auto"])
def test_a_symbol_and_its_parameters(dtype: str) -> None:
    symbol, params = network(), parameters()
    made, args = quantize_dynamic(symbol, params, quantized_dtype=dtype)
    assert made.list_outputs() == symbol.list_outputs()
    assert {name: a.dtype.name for name, a in args.items() if name.endswith("_quantize")} == {
        "fc0_weight_quantize": "int8", "w0_transposed_quantize": "int8", "w1_quantize": "int8",
        "fc1_weight_quantize": "int8"}
    assert "fc0_bias" in args
    assert "fc0_weight" not in args
    executor = bound(made, args)
    got, want = run(executor), run(bound(symbol, params))
    assert 30 < decibels(got, want) < 60
    assert executor.capture_state == "captured"
    with config.override(NDRT_ONEDNN=False):
        np.testing.assert_allclose(run(executor), got, rtol=1e-3, atol=1e-3)


def test_it_is_written_and_read(tmp_path: Path) -> None:
    made, args = quantize_dynamic(network(), parameters())
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, made, args, {})
    symbol, loaded, _ = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    np.testing.assert_array_equal(run(bound(symbol, loaded)), run(bound(made, args)))


def test_names_and_operators_stay_on_floats() -> None:
    _, args = quantize_dynamic(network(), parameters(), excluded_sym_names=["fc0"],
                               excluded_op_names=["dot"])
    assert [name for name in args if name.endswith("_quantize")] == ["fc1_weight_quantize"]
    # a weight that is computed, or is data, is none
    x, y = mx.sym.var("data"), mx.sym.var("y")
    for graph in (mx.sym.dot(x, mx.sym.tanh(y)), mx.sym.dot(x, y, transpose_a=True)):
        same, kept = quantize_dynamic(graph, {"y": mx.nd.ones((40, 3))})
        assert same.tojson() == graph.tojson()
        assert list(kept) == ["y"]


def test_an_executor() -> None:
    symbol, params = network(), parameters()
    executor = bound(symbol, params)
    want = run(executor)
    executor.calibrate(None, calib_mode="dynamic")
    got = run(executor)
    assert executor.capture_state == "captured"
    np.testing.assert_array_equal(got, run(bound(*quantize_dynamic(symbol, params))))
    assert 30 < decibels(got, want) < 60
    assert [row.kernel for row in executor.explain().rows].count("ndrt:dynamic_dense") == 4
    # a layer whose weight is written to has new 8-bit weights
    executor.arg_dict["w1"][:] = -executor.arg_dict["w1"]
    np.testing.assert_allclose(run(executor), -got, rtol=1e-5, atol=1e-6)
    assert executor.capture_state == "captured"
    larger = executor.reshape(allow_up_sizing=True, data=(8, 40), w0=(33, 24), w1=(18, 24))
    np.testing.assert_allclose(larger.forward(data=np.concatenate([data(), data(2)[:3]]))[0][
        :5].asnumpy(), -got, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run(executor.clone()), -got, rtol=1e-5, atol=1e-6)


def test_a_block() -> None:
    mx.random.seed(2)
    net = nn.HybridSequential()
    net.add(nn.Dense(30, activation="relu"), nn.Dense(9, flatten=False))
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(data())
    want = net(x).asnumpy()
    before = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    made = quantize_dynamic(net, data_shapes=[("data", SHAPE)])
    assert isinstance(made, gluon.SymbolBlock)
    made.hybridize()
    got = [made(x).asnumpy() for _ in range(3)][-1]
    assert 30 < decibels(got, want) < 60
    for name, parameter in net.collect_params().items():
        np.testing.assert_array_equal(parameter.data().asnumpy(), before[name])
    # the block is hybridized now, so that another kernel may compute it
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_a_model_of_onnx(tmp_path: Path) -> None:
    path = str(tmp_path / "net.onnx")
    mx.onnx.export_model(network(), parameters(), [SHAPE], np.float32, path, dynamic=True)
    model = mx.onnx.load(path)
    want = model(data())[0]
    model.calibrate(None, calib_mode="dynamic")
    for _ in range(3):
        got = model(data())[0]
    assert 30 < decibels(got, want) < 60
    operators = [row.operator for found in model.explain() for row in found.rows]
    assert operators.count("_contrib_dynamic_fully_connected") == 4
    np.testing.assert_array_equal(model.clone()(data()[:2])[0], got[:2])


def test_bert_keeps_its_outputs() -> None:
    symbol = mx.model_zoo.symbols.get_symbol(
        "bert_encoder", layers=2, hidden=64, heads=2, length=16, vocabulary=50, inner=128)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(1, 16))
    drawn = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = (drawn.integers(0, 50, array.shape) if name == "data"
                    else drawn.standard_normal(array.shape) * 0.1)
    want = executor.forward()[0].asnumpy()
    executor.calibrate(None, calib_mode="dynamic", quantized_dtype="uint8")
    got = executor.forward()[0].asnumpy()
    assert decibels(got, want) > 25


def test_cells_of_a_recurrent_network() -> None:
    cell = mx.rnn.LSTMCell(32, prefix="lstm_")
    symbol, _ = cell.unroll(5, mx.sym.var("data"), layout="NTC", merge_outputs=True)
    states = {name: (2, 32) for name in symbol.list_arguments() if "begin_state" in name}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(2, 5, 12), **states)
    drawn = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = drawn.standard_normal(array.shape) * (1 if name == "data" else 0.2)
    want = executor.forward()[0].asnumpy()
    executor.calibrate(None, calib_mode="dynamic")
    for _ in range(3):
        got = executor.forward()[0].asnumpy()
    assert decibels(got, want) > 25
    assert executor.capture_state == "captured"
    # each weight has one copy, which all steps read
    steps = [step.node.op.name for step in executor.inference_plan.steps]
    assert steps.count("_quantize_rows") == 2
    assert steps.count("_contrib_dynamic_fully_connected") == 10


def test_what_can_not_be_is_refused() -> None:
    symbol, params = network(), parameters()
    wrong: Any = 3
    with pytest.raises(TypeMismatch, match="expected a Symbol or a HybridBlock"):
        quantize_dynamic(wrong, params)
    with pytest.raises(TypeMismatch, match="parameter 'w0' is 3"):
        quantize_dynamic(symbol, {**params, "w0": wrong})
    wrong = None
    with pytest.raises(TypeMismatch, match="arg_params is None, expected a dict"):
        quantize_dynamic(symbol, wrong)
    with pytest.raises(ParameterError, match="unknown quantized_dtype int4"):
        quantize_dynamic(symbol, params, quantized_dtype="int4")
    with pytest.raises(ParameterError, match="data_shapes required"):
        quantize_dynamic(nn.Dense(3))  # type: ignore[call-overload]
    executor = bound(symbol, params)
    with pytest.raises(ParameterError, match="takes no batches"):
        executor.calibrate([data()], calib_mode="dynamic")
    taken = mx.sym.FullyConnected(mx.sym.var("data") + mx.sym.var("fc_weight_scale"),
                                  num_hidden=3, name="fc")
    with pytest.raises(ParameterError, match="'fc_weight_scale' is needed for 8-bit weights"):
        quantize_dynamic(taken, {"fc_weight": mx.nd.ones((3, 40))})
