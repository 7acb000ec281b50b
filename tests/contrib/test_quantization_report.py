"""What each layer loses on 8-bit numbers, and which stay on floats; names that no node has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.contrib import quantization
from ndarray_rt.errors import NameMismatch, ParameterError, TypeMismatch

SAMPLES = np.random.default_rng(0).standard_normal((11, 3, 8, 8)).astype(np.float32)


def network() -> tuple[Any, Any, Any]:
    """Of two convolutions, the second one with a filter whose numbers dwarf the others', and a
    dense layer."""
    data = mx.sym.var("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), num_filter=6, name="first")
    x = mx.sym.Activation(x, act_type="relu", name="bent")
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=5, name="second")
    x = mx.sym.FullyConnected(x, num_hidden=4, name="last")
    rng = np.random.default_rng(1)
    shapes = dict(zip(x.list_arguments(), x.infer_shape(data=(1, 3, 8, 8))[0], strict=True))
    args = {name: mx.nd.array(rng.standard_normal(shape) / 3) for name, shape in shapes.items()
            if name != "data"}
    args["second_weight"][0, 0, 0, 0] = 300
    return x, args, {}


def outputs(symbol: Any, args: Any, aux: Any, samples: Any = SAMPLES) -> Any:
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=samples.shape)
    executor.copy_params_from(args, aux, allow_extra_params=True)
    return executor.forward(data=mx.nd.array(samples))[0].asnumpy().astype(np.float64)


def loss_of(symbol: Any, args: Any, aux: Any) -> float:
    want = outputs(*network())
    return float(np.sqrt(np.square(outputs(symbol, args, aux) - want).sum()
                         / np.square(want).sum()))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("mode", ["naive", "entropy"])
def test_losses(fused: bool, mode: str) -> None:
    """They are those of models with all other layers excluded."""
    sym, args, aux = network()
    *made, report = quantization.quantize_with_report(
        sym, args, aux, {"data": SAMPLES}, calib_mode=mode, fused=fused, batch_size=4)
    assert report.loss == pytest.approx(loss_of(*made), rel=1e-4, abs=1e-6)
    assert report.samples == 11
    assert report.excluded == []
    assert {layer.name: layer.operator for layer in report.layers} == {
        "first": "Convolution", "second": "Convolution", "last": "FullyConnected"}
    losses = [layer.loss for layer in report.layers]
    assert losses == sorted(losses, reverse=True)
    assert 0 < min(losses) < 1
    for layer in report.layers:
        others = [name for name in ("first", "second", "last") if name != layer.name]
        *alone, _ = quantization.quantize_with_report(
            sym, args, aux, {"data": SAMPLES}, calib_mode=mode, fused=fused,
            excluded_sym_names=others, batch_size=4)
        assert layer.loss == pytest.approx(loss_of(*alone), rel=1e-4, abs=1e-6)
        assert layer.decibels == pytest.approx(-20 * np.log10(layer.loss))
        assert f"{layer.decibels:.1f} dB" in str(report)
    if not fused:
        assert report.quantized_nbytes < 0.3 * report.nbytes


@pytest.mark.parametrize("fused", [True, False])
def test_layers_stay_on_floats_down_to_a_loss(fused: bool) -> None:
    sym, args, aux = network()
    whole = quantization.quantize_with_report(sym, args, aux, {"data": SAMPLES}, fused=fused)[3]
    most = whole.loss * 0.8
    *made, report = quantization.quantize_with_report(
        sym, args, aux, {"data": mx.nd.array(SAMPLES)}, fused=fused, max_loss=most)
    assert loss_of(*made) == pytest.approx(report.loss, rel=1e-4, abs=1e-6)
    assert report.loss <= most
    assert 0 < len(report.excluded) < 3
    assert report.excluded == [layer.name for layer in report.layers][:len(report.excluded)]
    none = quantization.quantize_with_report(sym, args, aux, {"data": SAMPLES}, fused=fused,
                                             max_loss=0)[3]
    assert none.loss < 1e-6
    assert len(none.excluded) == 3


@pytest.mark.parametrize(("given", "error", "text"), [
    ({"excluded_sym_names": ["frist"]}, NameMismatch, "no node 'frist'; did you mean 'first'"),
    ({"excluded_sym_names": "first"}, TypeMismatch, "excluded_sym_names"),
    ({"max_loss": -1}, ParameterError, "max_loss got -1"),
    ({"max_loss": np.nan}, ParameterError, "max_loss got nan"),
    ({"batch_size": 0}, ParameterError, "batch_size got 0"),
    ({"calib_mode": "none"}, ParameterError, "unknown calibration mode none"),
    ({"quantized_dtype": "int4"}, ParameterError, "unknown quantized_dtype"),
    ({"data": {}}, ParameterError, "data got nothing"),
    ({"data": {"data": SAMPLES[:0]}}, ParameterError, "data got data of shape"),
    ({"data": {"dat": SAMPLES}}, NameMismatch, "'dat', which is no argument.*mean 'data'"),
    ({"arg_params": {}}, NameMismatch, "first_weight"),
    ({"arg_params": None}, TypeMismatch, "arg_params is None, expected a dict of NDArrays"),
    ({"data": None}, TypeMismatch, "data is None, expected a dict of samples"),
    ({"data": SAMPLES}, TypeMismatch, "data is ndarray of shape .*, expected a dict of samples"),
    ({"max_loss": "a"}, TypeMismatch, "max_loss got 'a', expected a float"),
    ({"batch_size": 1.5}, TypeMismatch, "batch_size got 1.5, expected an int"),
    ({"data": {"data": np.full((1, 3, 8, 8), np.inf)}}, ParameterError, "not finite")])
def test_refuses(given: dict[str, Any], error: type[Exception], text: str) -> None:
    sym, args, aux = network()
    call = {"arg_params": args, "data": {"data": SAMPLES}, **given}
    with pytest.raises(error, match=text):
        quantization.quantize_with_report(sym, aux_params=aux, **call)


def test_what_has_no_layers_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"sym has no layer that can be quantized$"):
        quantization.quantize_with_report(mx.sym.relu(mx.sym.var("data")), {}, {},
                                          {"data": SAMPLES})
    sym, args, aux = network()
    with pytest.raises(ParameterError, match="beside the excluded ones: first, second, last"):
        quantization.quantize_with_report(sym, args, aux, {"data": SAMPLES},
                                          excluded_sym_names=["first", "second", "last"])


def test_names_that_no_node_has() -> None:
    """Warnings where MXNet's programs exclude nodes of several networks at once, else refused."""
    sym, args, aux = network()
    for make in (quantization.quantize_model, quantization.quantize_model_mkldnn):
        with pytest.warns(UserWarning, match="there is no node 'secnod'; did you mean 'second'"):
            make(sym, args, aux, label_names=None, calib_mode="none",
                 excluded_sym_names=["secnod", "first"])
    executor = sym.simple_bind(mx.cpu(), grad_req="null", data=SAMPLES.shape)
    with pytest.raises(NameMismatch, match="there is no node 'secnod'; did you mean 'second'"):
        executor.calibrate([SAMPLES], excluded_sym_names=["secnod"])


def test_errors_of_fused_layers_name_the_layers_inside() -> None:
    """uint8 does not stand for numbers below 0."""
    sym, args, aux = network()
    made = quantization.quantize_model_mkldnn(sym, args, aux, label_names=None, calib_mode="none",
                                              quantized_dtype="uint8")
    for passes in ("all", ""):
        with config.override(NDRT_SKIP_PASSES=passes), pytest.raises(
                ParameterError, match=r'_sg_mkldnn_conv ".* \(layers .*first.*\)": '):
            outputs(*made, -np.abs(SAMPLES))


def test_data_that_is_not_finite_is_named() -> None:
    sym, args, aux = network()
    made = quantization.quantize_model_mkldnn(sym, args, aux, label_names=None, calib_mode="none")
    with pytest.raises(ParameterError, match=r'"data_quantize": data has a range from .* to inf'):
        outputs(*made, np.full_like(SAMPLES, np.inf))


def test_parameters_have_their_own_shapes() -> None:
    symbol = mx.sym.broadcast_add(mx.sym.FullyConnected(
        mx.sym.var("data"), num_hidden=5, flatten=False, no_bias=True, name="fc"),
        mx.sym.var("shift"))
    rng = np.random.default_rng(0)
    args = {"fc_weight": mx.nd.array(rng.standard_normal((5, 7))),
            "shift": mx.nd.array(rng.standard_normal((1, 1, 5)))}
    *_, report = quantization.quantize_with_report(
        symbol, args, {}, {"data": rng.standard_normal((6, 3, 7))})
    assert report.decibels > 30
