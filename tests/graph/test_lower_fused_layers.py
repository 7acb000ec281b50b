"""Fused layers on 8-bit numbers are computed natively, with weights that are rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt._array.req import Req
from ndarray_rt.contrib import quantization
from ndarray_rt.errors import ParameterError
from ndarray_rt.op.dispatch import Dispatched, observe
from ndarray_rt.passes import optimize
from ndarray_rt.passes.fuse_layers import SCORES, WEIGHTED
from tests.graph.pass_checks import operators

SHAPE = (2, 6, 9, 8)
RNG = np.random.default_rng(5)
PICTURES = RNG.normal(size=SHAPE).astype("f4")


def conv(x: Any, name: str, size: int = 3, **more: Any) -> Any:
    return mx.sym.Convolution(x, kernel=(size, size), pad=(size // 2,) * 2, num_filter=6, name=name,
                              **more)


def norm(x: Any, **more: Any) -> Any:
    return mx.sym.BatchNorm(x, fix_gamma=False, name="norm", **more)


def relu(x: Any) -> Any:
    return mx.sym.Activation(x, act_type="relu")


DATA = mx.sym.var("data")
CONV, DENSE = "_fused_rounded_conv", "_fused_rounded_dense"
NETWORKS: dict[str, tuple[Any, list[str]]] = {
    "convolution": (conv(DATA, "a"), [CONV]),
    "no bias, norm": (norm(conv(DATA, "a", no_bias=True)), [CONV]),
    "norm, relu": (relu(norm(conv(DATA, "a"))), [CONV]),
    "gamma is 1": (mx.sym.BatchNorm(conv(DATA, "a"), name="norm"), [CONV]),
    "relu6": (mx.sym.clip(conv(DATA, "a"), 0, 6), [CONV]),
    "leaky": (mx.sym.LeakyReLU(conv(DATA, "a"), slope=0.3), [CONV]),
    "gelu": (mx.sym.LeakyReLU(conv(DATA, "a"), act_type="gelu"), [CONV]),
    "sum": (relu(mx.sym.elemwise_add(conv(relu(conv(DATA, "a")), "b"), conv(DATA, "c"))),
            [CONV] * 3),
    "depthwise": (conv(relu(conv(DATA, "a", num_group=6)), "b", 1), [CONV] * 2),
    "groups": (conv(DATA, "a", num_group=2), [CONV]),
    "pool, dense": (mx.sym.FullyConnected(mx.sym.Pooling(
        relu(conv(DATA, "a")), kernel=(2, 2), pool_type="max"), num_hidden=5, name="d"),
        [CONV, DENSE]),
    "concat": (conv(mx.sym.concat(relu(conv(DATA, "a")), conv(DATA, "b")), "c"), [CONV] * 3),
    "dense": (mx.sym.FullyConnected(mx.sym.FullyConnected(DATA, num_hidden=7, name="a"),
                                    num_hidden=3, no_bias=True, name="b"), [DENSE] * 2),
    "dense, elu": (mx.sym.LeakyReLU(mx.sym.FullyConnected(DATA, num_hidden=7, name="a"),
                                    act_type="elu"), [DENSE]),
    "dense, abs": (mx.sym.FullyConnected(mx.sym.abs(mx.sym.FullyConnected(
        DATA, num_hidden=7, name="a")), num_hidden=2, name="b"), [DENSE] * 2),
}
STEPS = mx.sym.reshape(DATA, shape=(6, 2, 72))
NETWORKS["attention"] = mx.sym.contrib.interleaved_matmul_selfatt_valatt(
    STEPS, mx.sym.softmax(mx.sym.contrib.interleaved_matmul_selfatt_qk(STEPS, heads=4)),
    heads=4), []
# what gives 8-bit numbers, too
NETWORKS["attention, dense"] = mx.sym.FullyConnected(
    mx.sym.contrib.interleaved_matmul_selfatt_qk(STEPS, heads=4), num_hidden=3, flatten=False,
    name="a"), [DENSE]
# without ranges these functions of sums are computed of floats
OF_FLOATS = ("gelu", "dense, elu")
OPTIONS: dict[str, dict[str, Any]] = {
    "auto": {"calib_mode": "naive", "quantized_dtype": "auto"},
    "int8": {"calib_mode": "naive", "quantized_dtype": "int8"},
    "by rows": {"calib_mode": "naive", "quantize_granularity": "channel-wise"},
    "uncalibrated": {"calib_mode": "none"}}


def parameters(symbol: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    shapes, _, aux_shapes = symbol.infer_shape(data=SHAPE)
    rng = np.random.default_rng(6)

    def drawn(names: list[str], given: Any) -> dict[str, Any]:
        return {name: mx.nd.array(abs(rng.normal(size=shape)) if name.endswith(("var", "gamma"))
                                  else rng.normal(size=shape))
                for name, shape in zip(names, given, strict=True) if name != "data"}
    return (drawn(symbol.list_arguments(), shapes),
            drawn(symbol.list_auxiliary_states(), aux_shapes))


def quantized(name: str, options: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    symbol = NETWORKS[name][0]
    args, aux = parameters(symbol)
    symbol, args, aux = quantization.quantize_model_mkldnn(
        symbol, args, aux, label_names=None, quantize_mode="smart",
        calib_data=mx.io.NDArrayIter(PICTURES, batch_size=2), **OPTIONS[options])
    return symbol, {**args, "data": mx.nd.array(PICTURES)}, aux


def bound(symbol: Any, given: Any, aux: Any) -> Any:
    return symbol.bind(mx.cpu(), given, aux_states=aux, grad_req="null")


def naive(symbol: Any, given: Any, aux: Any) -> Any:
    """The output of the graph without the pass, by NumPy."""
    with config.override(NDRT_SKIP_PASSES="lower_fused_layers"):
        return bound(symbol, given, aux).forward()[0].asnumpy()


def graph(symbol: Any, given: Any, aux: Any) -> Any:
    arrays = {**given, **aux}
    return optimize(symbol.entries, {name: x.shape for name, x in arrays.items()},
                    {name: x.dtype for name, x in arrays.items()})


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NETWORKS)
def test_results_are_the_same(name: str, options: str) -> None:
    """Heads are floats: a step is as large as the largest by 127.5, for each layer before."""
    made = quantized(name, options)
    net, want, slow = bound(*made), naive(*made), set()

    def watch(call: Dispatched) -> None:
        if call.reason is not None:
            slow.add(call.op.name)
    stop = observe(watch)
    try:
        for _ in range(3):
            found = net.forward()[0].asnumpy()
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=abs(want).max() / 127)
    finally:
        stop()
    found_operators = operators(graph(*made).heads)
    if options != "uncalibrated" or name not in OF_FLOATS:
        assert not slow
        assert sorted(op for op in found_operators if op.startswith("_fused")) == sorted(
            NETWORKS[name][1])
        assert {op for op in found_operators if op.startswith("_sg_")} <= {SCORES, WEIGHTED}
        for _ in range(3):
            np.testing.assert_array_equal(net.forward()[0].asnumpy(), found)
        assert net.capture_state == "captured"


@pytest.mark.parametrize("options", ["auto", "uncalibrated"])
def test_most_results_are_equal_bit_by_bit(options: str) -> None:
    for name in ("convolution", "norm, relu", "sum", "depthwise", "concat", "pool, dense", "leaky",
                 "relu6", "dense, abs"):
        made = quantized(name, options)
        np.testing.assert_array_equal(bound(*made).forward()[0].asnumpy(), naive(*made))


def test_weights_are_rounded_once_and_when_one_changes() -> None:
    symbol, given, aux = quantized("norm, relu", "auto")
    net, ran = bound(symbol, given, aux), []
    stop = observe(lambda call: ran.append(call.op.name))
    try:
        for _ in range(4):
            net.forward()
        assert ran.count("_round_layer") == 1
        for array in (given["a_weight"], aux["norm_moving_var"], given["norm_gamma"]):
            array *= 1.5
            found = net.forward()[0].asnumpy()
            np.testing.assert_array_equal(found, naive(symbol, given, aux))
        assert ran.count("_round_layer") == 4
    finally:
        stop()


def test_ranges_that_the_graph_does_not_tell_are_read_at_each_run() -> None:
    layer = conv(DATA, "a").get_backend_symbol("MKLDNN_QUANTIZE")
    args, _ = parameters(conv(DATA, "a"))
    symbol = quantization.quantize_graph(layer, args, {}, calib_mode="none")[0]
    fused = next(part for part in symbol.get_internals()
                 if str(part.name).startswith("quantized_sg"))
    given = {**args, "data": mx.nd.array(PICTURES)}
    net = bound(fused, given, {})
    for factor in (1.0, 3.0):
        given["data"][:] = PICTURES * factor
        for found, want in zip(net.forward(), bound(fused, given, {}).forward(is_train=True),
                               strict=True):
            np.testing.assert_array_equal(found.asnumpy(), want.asnumpy())


def test_a_range_that_uint8_can_not_have_is_refused() -> None:
    symbol, given, aux = quantized("sum", "auto")
    text = symbol.tojson().replace('"min_calib_range": "0.000000"', '"min_calib_range": "-1.0"')
    with pytest.raises(ParameterError, match="data is uint8 and has a range from -1"):
        bound(mx.sym.load_json(text), given, aux).forward()


def test_errors_name_the_users_layer() -> None:
    """The first run and a replay: uint8 does not stand for numbers below 0."""
    symbol = relu(conv(DATA, "a"))
    made, params, aux = quantization.quantize_model_mkldnn(
        symbol, *parameters(symbol), label_names=None, calib_mode="none", quantized_dtype="uint8")
    executor = made.bind(mx.cpu(), {**params, "data": mx.nd.zeros(SHAPE)}, grad_req="null",
                         aux_states=aux)
    above, below = np.abs(PICTURES), -np.abs(PICTURES)
    for data in (above, above, above, below, below, above, above, below):
        if data is above:
            executor.forward(data=data)
        else:
            with pytest.raises(ParameterError, match=r'^_sg_mkldnn_conv "\w* \(layers a, '
                                                     r'activation\d+\)": .*expected one from 0'):
                executor.forward(data=data)


def both_ways(made: tuple[Any, dict[str, Any]], x: Any) -> list[Any]:
    """The output natively, and by NumPy node by node."""
    symbol, params = made
    known = {name: value for name, value in params.items() if name in symbol.list_arguments()}
    found = []
    for is_native in (True, False):
        with config.override(NDRT_ONEDNN=is_native):
            found.append(bound(symbol, {**known, "data": mx.nd.array(x)},
                               {}).forward()[0].asnumpy())
    return found


@pytest.mark.parametrize("unit", [0.0, 1e-45, 1e-40, 1e-38, 1e-37])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("is_dense", [True, False])
def test_data_that_are_as_good_as_0_give_the_bias(unit: float, options: str, is_dense: bool,
                                                  ) -> None:
    """No step of such a range is a float: 1e-7 came out of 0, and NaN of a bias of 1e-37."""
    layer = mx.sym.FullyConnected(DATA, num_hidden=7, name="a") if is_dense else conv(DATA, "a")
    data = (PICTURES / np.abs(PICTURES).max() * unit).astype("f4")
    for bias in (1.0, 1e-37, 0.0):
        args = parameters(layer)[0]
        args["a_bias"] = mx.nd.full(args["a_bias"].shape, bias)
        made = quantization.quantize_model_mkldnn(
            layer, args, {}, label_names=None, quantize_mode="smart",
            calib_data=mx.io.NDArrayIter(data, batch_size=2), **OPTIONS[options])[:2]
        for got in both_ways(made, data):
            np.testing.assert_allclose(got, bias, rtol=0.01, atol=1e-36)


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("bias", [1e-3, 1.0, -30.0, 1e6])
@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
@pytest.mark.parametrize("is_dense", [True, False])
def test_a_bias_that_int32_does_not_hold(unit: float, bias: float, granularity: str,
                                         is_dense: bool) -> None:
    """Without calibration the sums are int32: in steps of small data a large bias is beyond."""
    layer = mx.sym.FullyConnected(DATA, num_hidden=7, name="a") if is_dense else conv(DATA, "a")
    args = parameters(layer)[0]
    args["a_bias"] *= bias
    data = PICTURES * np.float32(unit)
    want = bound(layer, {**args, "data": mx.nd.array(data)}, {}).forward()[0].asnumpy()
    made = quantization.quantize_model_mkldnn(
        layer, args, {}, label_names=None, quantize_mode="smart", calib_mode="none",
        quantize_granularity=granularity)[:2]
    for got in both_ways(made, data):
        assert np.linalg.norm(got - want) < 0.03 * np.linalg.norm(want)


def test_weights_as_good_as_0() -> None:
    layer = mx.sym.FullyConnected(DATA, num_hidden=7, name="a")
    for unit in (0.0, 1e-40, 1e-38):
        args = parameters(layer)[0]
        args["a_weight"] *= np.float32(unit)
        for options in OPTIONS.values():
            made = quantization.quantize_model_mkldnn(
                layer, args, {}, label_names=None, quantize_mode="smart",
                calib_data=mx.io.NDArrayIter(PICTURES, batch_size=2), **options)[:2]
            for got in both_ways(made, PICTURES):
                want = np.broadcast_to(args["a_bias"].asnumpy(), got.shape)
                assert np.linalg.norm(got - want) < 0.03 * np.linalg.norm(want)


POINT = np.array([1.0, 10.0], "f4").reshape(1, 2, 1, 1)
ONES = np.eye(2, dtype="f4").reshape(2, 2, 1, 1)


def of_point(x: Any, **more: Any) -> Any:
    return mx.sym.Convolution(x, kernel=(1, 1), num_filter=2, name="c", **more)


def bias(value: float) -> Any:
    return np.full(2, value, "f4")


@pytest.mark.parametrize("skip", ["", "lower_fused_layers"])
@pytest.mark.parametrize(("symbol", "given", "factor"), [
    (of_point(DATA * 0, no_bias=True) + DATA, {}, 1.0),
    (mx.sym.elemwise_add(of_point(mx.sym.relu(DATA - 20)), DATA), {"c_bias": bias(0.5)}, 1.0),
    (of_point(DATA * 1e-7, no_bias=True) + DATA, {}, 1.0),
    (of_point(DATA * 1e-6) + DATA, {"c_bias": bias(0.5)}, 1.0),
    (mx.sym.relu(of_point(mx.sym.relu(DATA - 20)) + DATA), {"c_bias": bias(-0.5)}, 1.0),
    (of_point(DATA), {"c_bias": bias(0.005)}, 0.0),
    (mx.sym.LeakyReLU(of_point(DATA), slope=3.5), {"c_bias": bias(-1)}, 0.0),
    (mx.sym.LeakyReLU(of_point(DATA * 0) - DATA, slope=3.5), {"c_bias": bias(-1)}, 1.0),
    (mx.sym.abs(of_point(DATA)), {"c_bias": bias(-0.005)}, 0.0),
    (mx.sym.FullyConnected(DATA, num_hidden=2, name="d"),
     {"d_weight": ONES.reshape(2, 2), "d_bias": bias(1e-4)}, 0.0),
    (mx.sym.FullyConnected(DATA, num_hidden=2, name="d"),
     {"d_weight": ONES.reshape(2, 2) * 0, "d_bias": bias(1e-4)}, 1.0),
    (mx.sym.LeakyReLU(mx.sym.FullyConnected(DATA, num_hidden=2, name="d"), slope=3.5),
     {"d_weight": ONES.reshape(2, 2), "d_bias": bias(-1)}, 0.0)])
@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
def test_what_is_added_is_kept_where_data_are_as_good_as_0(
        symbol: Any, given: dict[str, Any], factor: float, granularity: str, skip: str) -> None:
    """Uncalibrated sums have the steps of data times weights: they have to hold all that is added,
    too."""
    given = {name: mx.nd.array(value) for name, value in {"c_weight": ONES, **given}.items()
             if name in symbol.list_arguments()}
    made, params, _ = quantization.quantize_model_mkldnn(
        symbol, dict(given), {}, label_names=None, calib_mode="none",
        quantize_granularity=granularity)
    data = mx.nd.array(POINT * np.float32(factor))
    want = bound(symbol, {**given, "data": data}, {}).forward()[0].asnumpy()
    with config.override(NDRT_SKIP_PASSES=skip):
        found = bound(made, {**params, "data": data}, {}).forward()[0].asnumpy()
    np.testing.assert_allclose(found, want, rtol=0.02, atol=abs(want).max() * 0.02)


@pytest.mark.parametrize("groups", [1, 32])
def test_a_sum_replaces_its_summand(groups: int) -> None:
    """Where nothing else reads it; layers of a filter for each channel leave it be."""
    def layer(x: Any, name: str) -> Any:
        return mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=32, name=name,
                                  num_group=groups)
    x = relu(mx.sym.Convolution(DATA, kernel=(1, 1), num_filter=32, name="first"))
    for i in range(3):
        x = relu(mx.sym.elemwise_add(layer(relu(layer(x, f"a{i}")), f"b{i}"), x))
    x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=2, name="last")
    given = {name: RNG.normal(0, 0.2, shape).astype("f4") for name, shape in zip(
        x.list_arguments(), x.infer_shape(data=SHAPE)[0], strict=True)}
    outputs, requests = [], []
    for plans in (True, False):
        with config.override(NDRT_PLAN_MEMORY=plans):
            executor = x.simple_bind(mx.cpu(), grad_req="null", data=SHAPE)
            for name, value in given.items():
                executor.arg_dict[name][:] = value
            executor.calibrate([PICTURES])
            outputs += [executor.forward(data=PICTURES)[0].asnumpy() for _ in range(3)]
            requests += [step.reqs[0] for step in executor.inference_plan.steps
                         if step.node.op.name == CONV and step.node.params.with_sum]
    for output in outputs[1:]:
        np.testing.assert_array_equal(output, outputs[0])
    assert requests == [Req.kWriteInplace] * 3 + [Req.kWriteTo] * 3
