"""Executor.calibrate: float32 on batches, then 8-bit numbers, in one executor."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt._array.interop import export
from ndarray_rt.contrib import quantization
from ndarray_rt.errors import NameMismatch, ParameterError, ShapeError, TypeMismatch
from ndarray_rt.op.prim_cache import CACHE
from tests.data.make_mxnet_quantization import SHAPE, branches, parameters, residual, samples

BATCHES = [samples(12)[i:i + 4] for i in (0, 4, 8)]


def bound(symbol: Any = None, shape: tuple[int, ...] = SHAPE) -> Any:
    symbol = residual(mx) if symbol is None else symbol
    args, aux = parameters(mx, symbol)
    return symbol.bind(mx.cpu(), {**args, "data": mx.nd.zeros(shape)}, grad_req="null",
                       aux_states=aux)


# layer by layer, as MXNet's quantize_model
PLAIN: dict[str, Any] = {
    "calib_mode": "naive", "quantized_dtype": "int8", "quantize_granularity": "tensor-wise",
    "fused": False}


def calibrated(**options: Any) -> Any:
    made = bound()
    made.calibrate(BATCHES, **options)
    return made


def run(executor: Any, i: int = 1, **inputs: Any) -> Any:
    """The outputs of the third run, which is replayed."""
    for _ in range(3):
        outputs = executor.forward(data=BATCHES[i], **inputs)
    return [y.asnumpy() for y in outputs]


def operators(executor: Any) -> list[str]:
    return [step.node.op.name for step in executor.inference_plan.steps]


class Both(mx.io.DataIter):
    """The batches, with the same ids in each."""

    def __init__(self, ids: Any) -> None:
        super().__init__(SHAPE[0])
        self.provide_data = [mx.io.DataDesc("data", SHAPE), mx.io.DataDesc("ids", ids.shape)]
        self.provide_label: list[Any] = []
        self._left = iter([mx.io.DataBatch([mx.nd.array(x), mx.nd.array(ids)]) for x in BATCHES])

    def next(self) -> Any:
        return next(self._left)


# ---- results -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {"calib_mode": "naive"}, {"calib_mode": "entropy", "quantized_dtype": "auto"},
    {"quantized_dtype": "uint8", "quantize_mode": "full"},
    {"excluded_sym_names": ["conv1"], "excluded_op_names": ["FullyConnected"]},
    {"fused": True}, {"fused": True, "quantize_granularity": "channel-wise"}],
    ids=lambda options: " ".join(map(str, options.values())))
def test_results_are_those_of_quantize_model(options: dict[str, Any]) -> None:
    options = PLAIN | options
    executor = bound()
    executor.calibrate(BATCHES, **options)
    found = run(executor)
    fused = options.pop("fused")
    function = quantization.quantize_model_mkldnn if fused else quantization.quantize_model
    symbol = residual(mx)
    graph, args, aux = function(
        symbol, *parameters(mx, symbol), label_names=None,
        calib_data=mx.io.NDArrayIter(samples(12), batch_size=4), **options)
    other = graph.bind(mx.cpu(), {**args, "data": mx.nd.zeros(SHAPE)}, grad_req="null",
                       aux_states=aux)
    np.testing.assert_array_equal(found[0], run(other)[0])
    assert any("quantize" in name for name in operators(executor))
    assert executor.symbol.list_outputs() == symbol.list_outputs()
    assert list(executor.output_dict) == symbol.list_outputs()


def test_runs_are_replayed_and_near_those_on_floats() -> None:
    want = run(bound())[0]
    fused = calibrated()
    assert 0 < np.abs(run(fused)[0] - want).max() < 0.02
    error, = fused.check_precision()
    assert 0 < error.relative < 0.05
    executor = calibrated()
    run(executor)
    assert executor.capture_state == "captured"
    found = executor.explain()
    assert not [row.node for row in found.rows if row.kernel.startswith("numpy")]


@pytest.mark.parametrize("setting", [{"NDRT_ONEDNN": False}, {"NDRT_CAPTURE": False},
                                     {"NDRT_SKIP_PASSES": "all"}, {"NDRT_VALIDATE": True}])
def test_switches_change_nothing(setting: dict[str, Any]) -> None:
    executor = calibrated()
    want = run(executor)[0]
    with config.override(**setting):
        np.testing.assert_allclose(run(executor)[0], want, rtol=1e-5, atol=1e-6)


def test_several_inputs_and_outputs() -> None:
    symbol = branches(mx)
    args, aux = parameters(mx, symbol)
    ids = np.array([[0, 1, 6], [2, 3, 5]] * 2, np.float32)
    executor = symbol.bind(mx.cpu(), {**args, "data": mx.nd.zeros(SHAPE), "ids": mx.nd.array(ids)},
                           grad_req="null", aux_states=aux)
    executor.calibrate(({"data": batch, "ids": ids} for batch in BATCHES), **PLAIN)
    got = run(executor, ids=ids)
    graph, qargs, _ = quantization.quantize_model(
        symbol, args, aux, data_names=("data", "ids"), label_names=None, calib_mode="naive",
        calib_data=Both(ids))
    other = graph.bind(mx.cpu(), {**qargs, "data": mx.nd.zeros(SHAPE), "ids": mx.nd.array(ids)},
                       grad_req="null")
    for a, b in zip(got, run(other, ids=ids), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("form", ["dict", "numpy", "ndarray", "list", "iterator", "named"])
def test_batches_come_in_many_forms(form: str) -> None:
    forms: dict[str, Any] = {
        "dict": [{"data": x} for x in BATCHES], "numpy": iter(BATCHES),
        "ndarray": [mx.nd.array(x) for x in BATCHES], "list": [[x] for x in BATCHES],
        "iterator": mx.io.NDArrayIter(samples(12), batch_size=4), "named": BATCHES}
    executor = bound()
    executor.calibrate(forms[form], calib_mode="naive",
                       **({"data_names": ["data"]} if form == "named" else {}))
    np.testing.assert_array_equal(run(executor)[0], run(calibrated())[0])


@pytest.mark.parametrize("options", [{}, PLAIN], ids=["fused", "plain"])
@pytest.mark.parametrize("unit", [1e-9, 1e-5, 1e9])
def test_ranges_are_said_in_any_unit(unit: float, options: dict[str, Any]) -> None:
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=8, no_bias=True,
                           name="first")
    symbol = mx.sym.Convolution(mx.sym.relu(x), kernel=(3, 3), num_filter=8, no_bias=True)
    data = (unit * np.random.default_rng(0).standard_normal((2, 4, 8, 8))).astype("f4")
    assert noise(symbol, data, **options) < 1e-3


def noise(symbol: Any, data: Any, **options: Any) -> float:
    """What the output of a symbol with random parameters loses by calibration, of its squares."""
    rng = np.random.default_rng(5)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=data.shape)
    for name, array in executor.arg_dict.items():
        if name != "data":
            array[:] = rng.standard_normal(array.shape)
    want = executor.forward(data=data)[0].asnumpy().astype("f8")
    executor.calibrate([data], **options)
    got = executor.forward(data=data)[0].asnumpy().astype("f8")
    return float(np.square(got - want).sum() / np.square(want).sum())


@pytest.mark.parametrize("no_bias", [False, True])
def test_convolutions_over_one_axis_lose_nothing(no_bias: bool) -> None:
    symbol = mx.sym.FullyConnected(mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3,), num_filter=8, no_bias=no_bias), num_hidden=3)
    data = np.random.default_rng(0).uniform(0, 1, (2, 16, 8)).astype("f4")
    assert noise(symbol, data) < 1e-3


@pytest.mark.parametrize("options", [{}, PLAIN], ids=["fused", "plain"])
@pytest.mark.parametrize("convention", ["valid", "full"])
def test_averages_are_those_of_floats(convention: str, options: dict[str, Any]) -> None:
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=8, no_bias=True)
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg",
                       pooling_convention=convention)
    symbol = mx.sym.Convolution(x, kernel=(1, 1), num_filter=8, no_bias=True)
    data = np.random.default_rng(0).uniform(0, 1, (1, 4, 5, 5)).astype("f4")
    assert noise(symbol, data, **options) < 1e-3


@pytest.mark.parametrize("unit", [1e-40, 1e37])
def test_histograms_of_any_unit(unit: float) -> None:
    data = (np.random.default_rng(0).standard_normal((4, 6)) * unit).astype("f4")
    executor = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3).simple_bind(
        mx.cpu(), grad_req="null", data=data.shape)
    executor.calibrate([data], calib_mode="entropy")
    assert np.isfinite(executor.forward(data=data)[0].asnumpy()).all()


@pytest.mark.parametrize("unit", [0, 1e-40, 1e-8, 1e-3])
def test_histograms_may_begin_with_small_numbers(unit: float) -> None:
    """Bins of the width of the first ones would take up to all memory."""
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3)
    data = np.random.default_rng(0).standard_normal((4, 6)).astype("f4")
    small, found = data * np.float32(unit), []
    for batches in ([small, data], [data, small]):
        executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=data.shape)
        for array in executor.arg_dict.values():
            array[:] = np.random.default_rng(1).standard_normal(array.shape)
        executor.calibrate(batches, calib_mode="entropy")
        found.append(executor.forward(data=data)[0].asnumpy())
    assert found[0].any()
    np.testing.assert_allclose(found[0], found[1], atol=0.02)


@pytest.mark.parametrize("value", [-5.0, 5.0, -1e-20])
def test_a_value_that_is_always_the_same_is_kept(value: float) -> None:
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, no_bias=True, name="fc")
    data = np.full((4, 6), value, np.float32)
    executor = symbol.bind(mx.cpu(), {"data": mx.nd.zeros((4, 6)), "fc_weight": mx.nd.ones((3, 6))},
                           grad_req="null")
    executor.calibrate([data], calib_mode="entropy", quantized_dtype="int8")
    np.testing.assert_allclose(executor.forward(data=data)[0].asnumpy(), 6 * value, rtol=0.02)


def test_it_can_be_calibrated_again() -> None:
    executor = bound()
    executor.calibrate([x * 9 for x in BATCHES])
    executor.calibrate(BATCHES)
    np.testing.assert_array_equal(run(executor)[0], run(calibrated())[0])


def test_monitors_see_the_graph_that_is_computed() -> None:
    executor, seen = calibrated(**PLAIN), []
    want = run(executor)[0]
    executor.set_monitor_callback(lambda name, array: seen.append((name, array.dtype)))
    np.testing.assert_array_equal(run(executor)[0], want)
    assert ("quantized_conv0_output", np.dtype(np.int32)) in seen
    # its own is there again after calibration
    before = len(seen)
    executor.calibrate(BATCHES)
    executor.forward()
    assert len(seen) > before


# ---- what is kept and what goes ----------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, PLAIN], ids=["fused", "plain"])
def test_nothing_for_floats_stays(options: dict[str, Any]) -> None:
    x = mx.sym.var("data")
    for i in range(2):
        x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=32, name=f"conv{i}")
        x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"bn{i}")
    x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=32, name="conv2")
    symbol = mx.sym.FullyConnected(x, num_hidden=64, name="fc")
    shape = (2, 16, 8, 8)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=shape)
    rng = np.random.default_rng(0)
    values = {name: rng.uniform(-1, 1, a.shape).astype("f4")
              for name, a in executor.arg_dict.items()}
    executor.copy_params_from({name: mx.nd.array(value) for name, value in values.items()})
    for _ in range(3):
        executor.forward(data=values["data"])
    executor.arg_dict["fc_weight"][:] = values["fc_weight"]  # packed into a copy from now on
    for _ in range(3):
        executor.forward(data=values["data"])
    assert executor.capture_state == "captured"
    packed = [a for a in executor.arg_dict.values() if a.layout != "default"]
    assert packed
    runs = executor._runs
    session, program = executor._session.key, weakref.ref(executor._inference.program)
    copies = [weakref.ref(copy.handle) for copy in runs.context.packed._made.values()]
    assert copies
    assert CACHE.stats(session)["entries"] > 0
    assert executor.memory_stats["live"] > 50_000
    executor.calibrate([values["data"]], **options)
    assert CACHE.stats(session)["entries"] == 0
    assert program() is None
    assert all(copy() is None for copy in copies)
    assert executor.memory_stats["live"] < 1000
    assert all(a.layout == "default" for a in executor.arg_dict.values())
    run_of = executor.forward()
    for name, value in values.items():
        np.testing.assert_array_equal(executor.arg_dict[name].asnumpy(), value)
    # the packed weights that there are now are of whole numbers, a quarter of the size
    kept = [copy.desc for copy in runs.context.packed._made.values()]
    constants = executor._inference.program.constants().values()
    # and what fused layers have for each channel
    assert {a.dtype.name for a in constants if a.size > 64} == {"int8"}
    assert all(desc.dtype_name != "float32" for desc in kept)
    assert run_of[0].shape == (2, 64)


def test_a_write_quantizes_that_layer_again() -> None:
    executor = calibrated()
    run(executor)
    constants = {entry.node.name: array._chunk for entry, array in
                 executor._inference.program.constants().items() if entry.index == 0}
    before = {name: chunk.changes for name, chunk in constants.items()}
    graph, ranges = executor.get_optimized_symbol().tojson(), "min_calib_range"
    executor.arg_dict["fc_weight"][:] = executor.arg_dict["fc_weight"] * -0.5
    got = run(executor)[0]
    assert executor.capture_state == "captured"
    changed = [name for name, chunk in constants.items() if chunk.changes != before[name]]
    assert changed == ["quantized_sg_mkldnn_fully_connected_0_rounded"]
    assert executor.get_optimized_symbol().tojson() == graph
    assert ranges in graph
    # the same as of the new weight in the ranges that were recorded
    other = bound()
    other.calibrate(BATCHES)
    other.arg_dict["fc_weight"][:] = executor.arg_dict["fc_weight"]
    np.testing.assert_array_equal(got, run(other)[0])
    assert np.abs(got - run(calibrated())[0]).max() > 0.05


def test_an_exported_weight_is_read_at_each_run() -> None:
    executor = calibrated()
    before = run(executor)[0]
    view = export(executor.arg_dict["fc_weight"])
    view *= -1
    assert np.abs(run(executor)[0] - before).max() > 0.01


def test_failures_leave_the_graph_on_floats() -> None:
    executor = bound()
    want = run(executor)[0]

    def broken() -> Any:
        yield BATCHES[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        executor.calibrate(broken(), fused=True)
    np.testing.assert_array_equal(run(executor)[0], want)
    with pytest.raises(ParameterError, match="not finite"):
        executor.calibrate([np.full(SHAPE, np.inf, np.float32)])
    np.testing.assert_array_equal(run(executor)[0], want)
    assert executor.capture_state == "captured"


# ---- other executors ---------------------------------------------------------------------------


def test_reshape_and_clone_are_on_8_bit_numbers() -> None:
    executor = calibrated()
    want = run(executor)[0]
    clone = executor.clone()
    np.testing.assert_array_equal(run(clone)[0], want)
    larger = executor.reshape(allow_up_sizing=True, data=(8, *SHAPE[1:]))
    both = np.concatenate([BATCHES[1], BATCHES[0]])
    for _ in range(3):
        got = larger.forward(data=both)[0].asnumpy()
    np.testing.assert_array_equal(got[:4], want)
    assert larger.capture_state == "captured"
    assert operators(larger) == operators(executor)
    # they share what is quantized of weights
    assert larger._inference.program.prologue is executor._inference.program.prologue
    assert clone._inference.program.prologue is executor._inference.program.prologue


def test_others_stay_on_floats() -> None:
    executor = bound()
    want = run(executor)[0]
    clone = executor.clone()
    run(clone)
    executor.calibrate(BATCHES)
    assert np.abs(run(executor)[0] - want).max() > 0
    for _ in range(2):
        np.testing.assert_allclose(run(clone)[0], want, rtol=1e-5, atol=1e-6)
        assert clone.capture_state == "captured"
        assert executor.capture_state == "captured"


def test_threads_share_what_is_quantized() -> None:
    executor = calibrated()
    want = [run(executor, i)[0] for i in range(3)]
    wrong: list[int] = []

    def work(clone: Any) -> None:
        for i in [0, 1, 2] * 30:
            if not np.array_equal(clone.forward(data=BATCHES[i])[0].asnumpy(), want[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(executor.clone(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_child_goes_on() -> None:
    executor = calibrated()
    want = run(executor)[0]
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = np.array_equal(run(executor)[0], want)
            executor.calibrate(BATCHES)
            same = same and np.array_equal(run(executor)[0], want)
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(run(executor)[0], want)


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(("batches", "options", "error", "said"), [
    ([], {}, ParameterError, "no batch"),
    (BATCHES[0], {}, TypeMismatch, "expected an iterable of batches"),
    ({"data": BATCHES[0]}, {}, TypeMismatch, "expected an iterable of batches"),
    (3, {}, TypeMismatch, "expected an iterable of batches"),
    ([3], {}, TypeMismatch, "a batch is"),
    ([{"dat": BATCHES[0]}], {}, NameMismatch, "'dat' is no argument"),
    ([BATCHES[0]], {"data_names": ["x"]}, NameMismatch, "'x' is no argument"),
    ([[BATCHES[0]] * 2], {}, ParameterError, r"2 array\(s\), expected 1: data"),
    ([BATCHES[0][:2]], {}, ShapeError, "data has shape"),
    (BATCHES, {"calib_mode": "none"}, ParameterError, "unknown calibration mode none"),
    (BATCHES, {"quantized_dtype": "int4"}, ParameterError, "unknown quantized_dtype int4"),
    (BATCHES, {"quantize_mode": "most"}, ParameterError, "unrecognized quantize mode: 'most'"),
    (BATCHES, {"quantize_granularity": "row"}, ParameterError, "quantize_granularity row"),
    (BATCHES, {"excluded_sym_names": "fc"}, ParameterError, "excluded_sym_names must be a list")])
def test_wrong_arguments_are_named(batches: Any, options: dict[str, Any], error: type[Exception],
                                   said: str) -> None:
    executor = bound()
    want = run(executor)[0]
    with pytest.raises(error, match=said):
        executor.calibrate(batches, **options)
    np.testing.assert_array_equal(run(executor)[0], want)


def test_a_quantized_graph_is_refused() -> None:
    symbol = residual(mx)
    args, aux = parameters(mx, symbol)
    for make in (quantization.quantize_model, quantization.quantize_model_mkldnn):
        made, params, states = make(symbol, args, aux, label_names=None, calib_mode="none")
        told = 'it is on 8-bit numbers already, as is _contrib_quantize_v2 "data_quantize"'
        with pytest.raises(ParameterError, match=told):
            make(made, params, states, label_names=None, calib_mode="none")
        with pytest.raises(ParameterError, match=told):
            quantization.quantize_with_report(made, params, states, {"data": BATCHES[0]})
        executor = made.bind(mx.cpu(), {**params, "data": mx.nd.zeros(SHAPE)}, grad_req="null",
                             aux_states=states)
        with pytest.raises(ParameterError, match=told):
            executor.calibrate(BATCHES)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("fused", [False, True])
def test_other_floats_are_refused(dtype: str, fused: bool) -> None:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    executor = x.simple_bind(mx.cpu(), grad_req="null", type_dict={"data": dtype}, data=(2, 4))
    data = np.ones((2, 4), dtype)
    want = executor.forward(data=data)[0].asnumpy()
    with pytest.raises(TypeMismatch, match=rf'"(fc|.* \(layers fc\))": data.* has dtype {dtype}, '
                                           "expected float32"):
        executor.calibrate([data], fused=fused)
    np.testing.assert_array_equal(executor.forward(data=data)[0].asnumpy(), want)


def test_training_is_refused() -> None:
    executor = residual(mx).simple_bind(mx.cpu(), data=SHAPE)
    with pytest.raises(mx.MXNetError, match="calibrate is for inference: this executor computes"):
        executor.calibrate(BATCHES)


def test_names_of_arrays_must_be_clear() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), no_bias=True, num_hidden=3)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", x=(2, 4))
    with pytest.raises(ParameterError, match="which argument an array is is not known"):
        executor.calibrate([np.ones((2, 4), np.float32)])
    executor.calibrate([np.ones((2, 4), np.float32)], data_names=["x"])


def test_names_of_quantized_weights_must_be_free() -> None:
    x = mx.sym.var("data") + mx.sym.var("fc_weight_quantize_min")
    executor = mx.sym.FullyConnected(x, num_hidden=3, name="fc").simple_bind(
        mx.cpu(), grad_req="null", data=(2, 4))
    with pytest.raises(ParameterError, match="'fc_weight_quantize_min' is needed for the 8-bit"):
        executor.calibrate([np.ones((2, 4), np.float32)])


def test_a_run_inside_of_calibration_is_refused() -> None:
    executor = bound()

    def nested() -> Any:
        executor.forward()
        yield BATCHES[0]

    with pytest.raises(mx.MXNetError, match="this executor is running in this very thread"):
        executor.calibrate(nested())
