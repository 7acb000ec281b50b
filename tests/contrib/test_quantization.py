"""contrib.quantization: graphs, thresholds, parameters and results as MXNet 1.9.1 has them."""

from __future__ import annotations

import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.contrib import quantization
from ndarray_rt.errors import ParameterError, TypeMismatch
from ndarray_rt.op.dispatch import observe
from tests.data.make_mxnet_quantization import (
    CALIBRATED,
    FILE,
    calibrated,
    graphs,
    iterator,
    lstm,
    nodes,
    outputs,
    parameters,
    residual,
    samples,
    simple,
)

WANTED: dict[str, Any] = json.loads(FILE.read_text())


def quantized(symbol: Any, **options: Any) -> Any:
    args, aux = parameters(mx, symbol)
    return quantization.quantize_model(symbol, args, aux, label_names=None, **options)


# ---- as MXNet ----------------------------------------------------------------------------------


def test_graphs_equal_mxnets() -> None:
    made = graphs(mx, quantization)
    assert made.keys() == WANTED["graphs"].keys()
    for name, want in WANTED["graphs"].items():
        assert made[name] == want, name


def test_thresholds_and_parameters_equal_mxnets() -> None:
    made = calibrated(mx, quantization)
    assert made.keys() == CALIBRATED.keys()
    for name, (want, params) in WANTED["calibrated"].items():
        for found, row in zip(made[name][0], want, strict=True):
            assert found[:3] == row[:3], name
            if len(row) < 4:
                continue
            assert found[3].keys() == row[3].keys(), name
            for key, value in row[3].items():
                if key.endswith("_range"):
                    assert float(found[3][key]) == pytest.approx(float(value), abs=2e-6), name
                else:
                    assert found[3][key] == value, name
        assert made[name][1] == params


def test_outputs_equal_mxnets() -> None:
    for mode, made in outputs(mx, quantization).items():
        np.testing.assert_allclose(made, WANTED["outputs"][mode], rtol=1e-6, atol=1e-6)


def test_an_lstm_equals_mxnets() -> None:
    for name, made in lstm(mx).items():
        for found, want in zip(made, WANTED["lstm"][name], strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6)


# ---- what MXNet does not do --------------------------------------------------------------------


def test_what_is_read_as_floats_may_be_an_output_too() -> None:
    """MXNet dequantizes such an output twice, which can not run."""
    last = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    graph, params, _ = quantized(mx.sym.Group([last, mx.sym.tanh(last)]), calib_mode="none")
    assert [row[1] for row in nodes(graph)[:-1]].count("fc_dequantize") == 1
    data = mx.nd.array(samples(4))
    first, second = graph.bind(mx.cpu(), {**params, "data": data}).forward()
    np.testing.assert_allclose(second.asnumpy(), np.tanh(first.asnumpy()), rtol=1e-6)


def test_what_there_is_no_operator_on_bytes_for_stays_on_floats() -> None:
    data = mx.sym.var("data")
    pooled = mx.sym.Pooling(data, kernel=(2, 2), pool_type="sum", name="pool")
    rows = mx.sym.Embedding(mx.sym.var("ids"), input_dim=7, output_dim=3, dtype="float64",
                            name="rows")
    graph = quantized(mx.sym.Group([pooled, rows]), calib_mode="none", quantize_mode="full")[0]
    assert [row[0] for row in nodes(graph)[:-1]] == ["null", "Pooling", "null", "null", "Embedding"]
    for mode, more in (("gru", {}), ("lstm", {"projection_size": 2}),
                       ("lstm", {"use_sequence_length": True})):
        cells = mx.sym.RNN(mx.sym.reshape(data, shape=(4, 4, 36)), state_size=3, num_layers=1,
                           mode=mode, name="rnn", **more)
        graph = quantized(cells, calib_mode="none", quantize_mode="full")[0]
        assert "_contrib_quantized_rnn" not in [row[0] for row in nodes(graph)[:-1]]
        with pytest.raises(ParameterError, match="expected mode 'lstm' without projection_size"):
            mx.sym.contrib.quantized_rnn(state_size=3, num_layers=1, mode=mode, **more)


def test_parameters_of_any_name_are_quantized() -> None:
    data, w = mx.sym.var("data"), mx.sym.var("w")
    dense = mx.sym.FullyConnected(data, w, num_hidden=2, no_bias=True, name="fc")
    params = quantized(dense, calib_mode="none")[1]
    assert sorted(params) == ["w_quantize", "w_quantize_max", "w_quantize_min"]


def test_the_model_on_floats_stays_as_it_is() -> None:
    symbol = residual(mx)
    before = symbol.tojson()
    graph = quantized(symbol, calib_mode="none")[0]
    again = graph.tojson()
    made = quantization._calibrate_quantized_sym(graph, {"conv0_output": (np.float32(-1), 2.0)})
    assert (symbol.tojson(), graph.tojson()) == (before, again)
    told = made.attr_dict()["requantize_conv0"]
    assert (told["min_calib_range"], told["max_calib_range"]) == ("-1.000000", "2.000000")
    assert quantization._calibrate_quantized_sym(graph, {}) is graph


def test_an_lstm_without_weights_or_steps() -> None:
    """Rows of zeros have no range, and no step no output."""
    state, cell = (mx.nd.ones((1, 2, 3)) * value for value in (0.25, 0.5))
    scale, shift = mx.nd.array([64.0]), mx.nd.array([64.0])
    for steps in (0, 2):
        data = mx.nd.zeros((steps, 2, 5), dtype="uint8")
        out, hidden, last = mx.nd.contrib.quantized_rnn(
            data, mx.nd.zeros((4 * 3 * 10,)), state, cell, scale, shift,
            state_size=3, num_layers=1, mode="lstm", state_outputs=True)
        assert out.shape == (steps, 2, 3)
        np.testing.assert_allclose(last.asnumpy(), 0.5 ** (steps + 1))
        want = 0.25 if not steps else np.rint(0.5 * np.tanh(0.125) * 64) / 64
        np.testing.assert_allclose(hidden.asnumpy(), want)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_weights_of_an_lstm_are_rounded_once_and_when_one_changes(bidirectional: bool) -> None:
    """Against NumPy, whose tanh may differ in its last place: then a byte is off by one."""
    states, features, cells = 21, 70, 2 * (1 + bidirectional)
    names = ("data", "parameters", "state", "cell", "scale", "shift")
    symbol = mx.sym.contrib.quantized_rnn(
        *map(mx.sym.var, names), state_size=states, num_layers=2, bidirectional=bidirectional,
        mode="lstm", state_outputs=True)
    drawn = np.random.default_rng(3)
    shapes, _, _ = symbol.infer_shape(data=(6, 5, features))
    arrays = [mx.nd.array(drawn.uniform(-0.3, 0.3, shape)) for shape in shapes[1:4]]
    given = dict(zip(names, [mx.nd.array(drawn.integers(0, 256, (6, 5, features)), dtype="uint8"),
                             *arrays, mx.nd.array([60.0]), mx.nd.array([110.0])], strict=True))
    assert arrays[1].shape == (cells, 5, states)

    def bound() -> Any:
        return symbol.bind(mx.cpu(), given, grad_req="null")
    executor, ran = bound(), []
    for _ in range(2):
        stop = observe(lambda call: ran.append((call.reason, call.impls)), replays=True)
        try:
            for _ in range(4):
                made = [out.asnumpy() for out in executor.forward()]
        finally:
            stop()
        with config.override(NDRT_ONEDNN=False):
            want = [out.asnumpy() for out in bound().forward()]
        for found, right in zip(made, want, strict=True):
            assert (abs(found - right) > 1e-5).mean() < 0.01
            np.testing.assert_allclose(found, right, atol=1.01 / 60)
        assert executor.capture_state == "captured"
        given["parameters"] *= -1.5
    assert [reason for reason, _ in ran] == [None] * len(ran)
    # weights are packed aside
    assert {name for _, impls in ran for name in impls} == {"ndrt:whole_windows", "ndrt:byte_lstm"}


# ---- in two steps ------------------------------------------------------------------------------


class Widest:
    """A collector of a user's."""

    def __init__(self) -> None:
        self.min_max_dict: dict[str, tuple[float, float]] = {}

    def collect(self, name: str, arr: Any) -> None:
        self.min_max_dict[name] = (-8.0, 8.0)


@pytest.mark.parametrize("mode", ["naive", "entropy", "customize"])
def test_two_steps_equal_one(mode: str) -> None:
    symbol = simple(mx)
    args, aux = parameters(mx, symbol)
    graph, params, _, collector = quantization.quantize_graph(
        symbol, args, aux, calib_mode=mode, quantize_mode="smart", LayerOutputCollector=Widest())
    executor = symbol.bind(mx.cpu(), {**args, "data": mx.nd.zeros((4, 4, 6, 6))}, grad_req="null")
    executor.set_monitor_callback(collector.collect, monitor_all=True)
    for batch in iterator(mx):
        executor.forward(data=batch.data[0])
    made, params, _ = quantization.calib_graph(graph, args, aux, collector, mode, logger=None)
    if mode == "customize":
        ends = {value for attrs in made.attr_dict().values() for key, value in attrs.items()
                if key.endswith("_range")}
        assert ends == {"-8.000000", "8.000000"}
    else:
        want = quantized(symbol, calib_mode=mode, calib_data=iterator(mx))
        assert made.tojson() == want[0].tojson()
        assert {name: value.asnumpy().tolist() for name, value in params.items()} == {
            name: value.asnumpy().tolist() for name, value in want[1].items()}


def test_only_as_many_samples_as_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("quantization")
    with caplog.at_level(logging.DEBUG):
        quantized(simple(mx), calib_mode="naive", calib_data=iterator(mx), num_calib_examples=5,
                  logger=logger)
    assert "Collected statistics from 2 batches with batch_size=4" in caplog.text
    assert "conv0 is quantized." in caplog.text
    assert "Collecting layer conv0_output min_range=" in caplog.text


@pytest.mark.parametrize("new_th", [0.5, 1.0, 3.7])
def test_histograms_are_added(new_th: float) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.uniform(-1, 1, 200), rng.uniform(-new_th, new_th, 300)
    counts, edges = np.histogram(first, bins=11, range=(-1, 1))
    made = quantization.combine_histogram((counts, edges, first.min(), first.max(), 1.0), second,
                                          second.min(), second.max(), new_th)
    both = np.concatenate([first, second])
    reach = made[4]
    assert reach >= max(1.0, new_th)
    assert (len(made[0]) - 11) % 2 == 0
    np.testing.assert_allclose(np.diff(made[1]), 2 / 11)
    want, _ = np.histogram(both, bins=len(made[0]), range=(-reach, reach))
    assert made[0].sum() == want.sum() == 500
    assert abs(made[0] - want).sum() <= 2  # of those that lie on an edge
    assert made[2:4] == (both.min(), both.max())


def test_histograms_far_wider_than_before_have_wider_bins() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.uniform(-1, 1, 200), rng.uniform(-1e6, 1e6, 300)
    counts, edges = np.histogram(first, bins=11, range=(-1, 1))
    made = quantization.combine_histogram((counts, edges, first.min(), first.max(), 1.0), second,
                                          second.min(), second.max(), 1e6)
    want, bins = np.histogram(np.concatenate([first, second]), bins=11, range=(-1e6, 1e6))
    np.testing.assert_array_equal(made[0], want)
    np.testing.assert_array_equal(made[1], bins)
    assert made[2:] == (second.min(), second.max(), 1e6)


@pytest.mark.slow("trains a network")
@pytest.mark.parametrize("mode", ["naive", "entropy"])
@pytest.mark.parametrize("dtype", ["int8", "auto"])
def test_digits_are_told_as_well_as_by_floats(trained: Any, mode: str, dtype: str) -> None:
    symbol, args, aux, seen, held = trained
    seen.reset()
    graph, params, aux = quantization.quantize_model(
        symbol, args, aux, calib_mode=mode, calib_data=seen, quantized_dtype=dtype)
    wanted, found = accuracy(symbol, args, aux, held), accuracy(graph, params, aux, held)
    assert wanted > 0.9
    assert found >= wanted - 0.005


@pytest.mark.slow("trains a network")
@pytest.mark.parametrize("fused", [False, True])
def test_a_calibrated_executor_tells_digits_as_well(trained: Any, fused: bool) -> None:
    symbol, args, aux, seen, held = trained
    seen.reset()
    wanted = accuracy(symbol, args, aux, held)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(128, 1, 28, 28))
    executor.copy_params_from(args, aux)
    executor.calibrate(seen, quantized_dtype="auto", fused=fused)
    held.reset()
    right = [(executor.forward(data=batch.data[0])[0].argmax(axis=1).asnumpy()
              == batch.label[0].asnumpy()).mean() for batch in held]
    assert np.mean(right) >= wanted - 0.005


def accuracy(symbol: Any, args: Any, aux: Any, data: Any) -> float:
    module = mx.mod.Module(symbol)
    module.bind(data.provide_data, data.provide_label, for_training=False)
    module.set_params(args, aux)
    return float(module.score(data, "acc")[0][1])


@pytest.fixture(scope="module")
def trained() -> Any:
    """LeNet without biases of convolutions: the graph, parameters, what it saw, 1,024 samples that
    it did not see."""
    pixels, labels = digits()
    mx.random.seed(1)
    np.random.seed(1)
    net = mx.sym.var("data")
    for name, filters in (("1", 20), ("2", 50)):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, no_bias=True,
                                 name=f"conv{name}")
        net = mx.sym.Pooling(mx.sym.Activation(net, act_type="relu", name=f"relu{name}"),
                             kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{name}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=500, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu", name="relu3"),
                                num_hidden=10, name="fc2")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    count = len(pixels) - 1024
    module = mx.mod.Module(net)
    module.fit(mx.io.NDArrayIter(pixels[:count], labels[:count], 32, shuffle=True), num_epoch=12,
               optimizer_params={"learning_rate": 0.05, "momentum": 0.9},
               initializer=mx.init.Xavier())
    return (net, *module.get_params(), mx.io.NDArrayIter(pixels[:count], labels[:count], 128),
            mx.io.NDArrayIter(pixels[count:], labels[count:], 128))


def digits() -> Any:
    """Pixels (1797, 1, 28, 28) and labels of the digits of the examples, shuffled."""
    path = str(Path(__file__).parents[2] / "examples")
    sys.path.insert(0, path)
    try:
        module = importlib.import_module("digits")
    finally:
        sys.path.remove(path)
    pixels, labels = module.load()
    order = np.random.RandomState(0).permutation(len(pixels))
    return pixels[order], labels[order]


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "said"), [
    ({"calib_mode": "naive"}, "calib_data must be provided when calib_mode=naive"),
    ({"calib_data": [1]}, "calib_data must be of DataIter type when calib_mode=entropy"),
    ({"calib_mode": "best", "calib_data": True}, "unknown calibration mode best received"),
    ({"quantized_dtype": "int4"}, "unknown quantized_dtype int4 received, expected `int8`"),
    ({"quantize_granularity": "row"}, "quantize_granularity row received"),
    ({"quantize_mode": "most"}, "unrecognized quantize mode: 'most'"),
    ({"excluded_sym_names": "conv0"}, "excluded_sym_names must be a list of strings"),
    ({"excluded_op_names": [1]}, "excluded_op_names must be a list of strings"),
    ({"ctx": [mx.cpu()], "calib_data": True}, "currently only supports single ctx"),
    ({"num_calib_examples": 0}, "num_calib_examples got 0, expected at least 1")])
def test_wrong_arguments_are_named(change: dict[str, Any], said: str) -> None:
    if change.get("calib_data") is True:
        change = {**change, "calib_data": iterator(mx)}
    with pytest.raises(ValueError, match=said):
        quantized(simple(mx), **change)


@pytest.mark.parametrize(("change", "said"), [
    ({"data_names": "data"}, "data_names got 'data', expected a list of names"),
    ({"data_names": [3]}, "data_names has 3, expected a string"),
    ({"data_names": None}, "data_names got None, expected a list of names"),
    ({"label_names": "softmax_label"}, "label_names got 'softmax_label', expected a list"),
    ({"num_calib_examples": "3"}, "num_calib_examples got '3', expected an int")])
def test_what_is_of_another_kind_is_named(change: dict[str, Any], said: str) -> None:
    symbol = simple(mx)
    args, aux = parameters(mx, symbol)
    with pytest.raises(mx.errors.TypeMismatch, match=said):
        quantization.quantize_model(symbol, args, aux, **{
            "label_names": None, "calib_data": iterator(mx), **change})


@pytest.mark.parametrize(("args", "aux", "said"), [
    (None, {}, "arg_params is None, expected a dict of NDArrays"),
    ({}, [1], r"aux_params is \[1\], expected a dict of NDArrays"),
    ({"more": np.ones(3)}, {}, "parameter 'more' is ndarray of shape")])
def test_parameters_of_another_kind_are_named(args: Any, aux: Any, said: str) -> None:
    with pytest.raises(mx.errors.TypeMismatch, match=said):
        quantization.quantize_model(simple(mx), args, aux, label_names=None, calib_mode="none")


def test_steps_that_do_not_fit_are_refused() -> None:
    symbol = simple(mx)
    args, aux = parameters(mx, symbol)
    wrong: Any = "net.json"
    with pytest.raises(mx.errors.TypeMismatch, match="expected a Symbol"):
        quantization.quantize_model(wrong, args, aux)
    with pytest.raises(ValueError, match="LayerOutputCollector must be provided"):
        quantization.quantize_graph(symbol, args, aux, calib_mode="customize")
    for mode in (None, "none"):
        with pytest.raises(ValueError, match="please set calibration mode to naive or entropy"):
            quantization.calib_graph(symbol, args, aux, None, mode)
    wrong = []
    with pytest.raises(ValueError, match="Only supports data as a type of DataIter"):
        quantization._collect_layer_statistics(None, wrong, None)


def test_values_that_are_not_finite_are_named() -> None:
    data = samples(12)
    data[3, 0] = np.nan
    with pytest.raises(ValueError, match="data has values that are not finite"):
        quantized(simple(mx), calib_mode="entropy", quantize_mode="smart",
                  calib_data=mx.io.NDArrayIter(data, batch_size=4))


def test_a_distribution_is_smoothed() -> None:
    made = quantization._smooth_distribution(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), eps=1e-3)
    np.testing.assert_allclose(made, [1e-3, 1e-3, 0.996, 1e-3, 1e-3])
    with pytest.raises(ValueError, match="All entries are 0"):
        quantization._smooth_distribution(np.zeros(2))
    with pytest.raises(AssertionError, match="n_zeros=3, n_nonzeros=1"):
        quantization._smooth_distribution(np.array([1.0, 0, 0, 0]), eps=0.5)
    with pytest.raises(AssertionError, match="an odd number"):
        quantization._get_optimal_threshold((np.ones(4), np.ones(5), 0, 1, 1), "int8")


def test_a_histogram_may_be_lists() -> None:
    """All values at one end: the threshold is the greatest one."""
    edges = [4 / 999 * i - 2 for i in range(999)] + [2]
    found = quantization._get_optimal_threshold(([0] * 998 + [1000], edges, -2, 2, 2), "int8",
                                                num_quantized_bins=5)
    assert found[2] == pytest.approx(2)


def test_without_calibration_batch_normalization_stays_on_floats() -> None:
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="c0")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn")
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=4, name="c1")
    executor = net.simple_bind(mx.cpu(), data=(2, 3, 9, 9), grad_req="null")
    for i, (name, array) in enumerate({**executor.arg_dict, **executor.aux_dict}.items()):
        low = 0.5 if name.endswith(("gamma", "var")) else -1
        array[:] = np.random.RandomState(i).uniform(low, 1, array.shape)
        if name.endswith("bias"):
            array[:] = 0
    want = executor.forward()[0].asnumpy()
    args = {name: value for name, value in executor.arg_dict.items() if name != "data"}
    qsym, qargs, qaux = mx.contrib.quantization.quantize_model(
        net, args, executor.aux_dict, calib_mode="none", quantize_mode="full")
    bound = qsym.bind(mx.cpu(), {**qargs, "data": executor.arg_dict["data"]}, aux_states=qaux)
    got = bound.forward()[0].asnumpy()
    assert np.linalg.norm(got - want) < 0.05 * np.linalg.norm(want)


def test_arguments_that_can_not_be_meant() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    quantize = mx.contrib.quantization.quantize_model
    args: dict[str, Any] = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones(2)}
    with pytest.raises(ParameterError, match="num_calib_examples got 0, expected at least 1"):
        quantize(net, args, {}, calib_mode="none", num_calib_examples=0)
    with pytest.raises(TypeMismatch, match=r"parameter .fc_weight. is .*expected an NDArray"):
        quantize(net, args | {"fc_weight": np.ones((2, 3))}, {}, calib_mode="none")


def test_ranges_of_large_sums_are_finite() -> None:
    data = mx.nd.array([[1000, -2000]], dtype="int32")
    _, low, high = mx.nd.contrib.requantize(data, mx.nd.array([-1e38]), mx.nd.array([1e38]))
    np.testing.assert_allclose([low.asscalar(), high.asscalar()],
                               [-2000 * 1e38 / 2**31, 2000 * 1e38 / 2**31], rtol=1e-6)


@pytest.mark.parametrize("mode", ["none", "naive"])
def test_parameters_that_are_not_given_are_named(mode: str) -> None:
    args, aux = parameters(mx, residual(mx))
    for missing, said in (("fc_weight", r"FullyConnected 'fc': weight 'fc_weight' is not in arg_p"),
                          ("bn0_moving_var", r"moving_var 'bn0_moving_var' is not in aux_params")):
        left_args, left_aux = ({name: value for name, value in given.items() if name != missing}
                               for given in (args, aux))
        with pytest.raises(mx.errors.NameMismatch, match=said):
            quantization.quantize_model(residual(mx), left_args, left_aux, label_names=None,
                                        calib_mode=mode, calib_data=iterator(mx))
        with pytest.raises(mx.errors.NameMismatch, match=f"'{missing}' is not in"):
            quantization.quantize_model_mkldnn(
                residual(mx), left_args, left_aux, label_names=None, calib_mode=mode,
                calib_data=iterator(mx))


def test_a_weight_may_be_data() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), mx.sym.var("w"), num_hidden=2, no_bias=True)
    made = quantization.quantize_model(net, {}, {}, data_names=("data", "w"), calib_mode="none")[0]
    assert made.list_arguments() == ["data", "w"]


def test_data_of_another_shape_is_named() -> None:
    args, aux = parameters(mx, simple(mx))
    data = mx.io.NDArrayIter(np.zeros((4, 5, 6, 6)), batch_size=4)
    with pytest.raises(mx.errors.ShapeError, match=(
            r"calib_data has data of shape \(4, 5, 6, 6\), which takes conv0_weight of shape "
            r"\(4, 5, 3, 3\), but the parameter has shape \(4, 4, 3, 3\)")):
        quantization.quantize_model(simple(mx), args, aux, label_names=None, calib_data=data)


def test_data_that_is_used_up_is_refused() -> None:
    args, aux = parameters(mx, simple(mx))
    data = iterator(mx)
    list(data)
    with pytest.raises(ParameterError, match="calib_data has no batch left"):
        quantization.quantize_model(simple(mx), args, aux, label_names=None, calib_data=data)
