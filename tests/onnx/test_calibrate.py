"""Model.calibrate: a model of ONNX on 8-bit numbers."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import NameMismatch, ParameterError, ShapeError, TypeMismatch

from .exported import random_params

SHAPE = (4, 3, 12, 12)


def network() -> Any:
    x = mx.sym.Variable("data")
    for i, filters in enumerate((16, 24)):
        x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=filters, no_bias=True, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    return mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=10, name="fc")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("calibrate") / "net.onnx"
    symbol = network()
    mx.onnx.export_model(symbol, random_params(symbol, data=SHAPE), [("batch", *SHAPE[1:])],
                         np.float32, str(path), dynamic=True)
    return path


def batches(count: int = 3, rows: int = SHAPE[0]) -> list[Any]:
    drawn = np.random.default_rng(1)
    return [drawn.uniform(-1, 1, (rows, *SHAPE[1:])).astype(np.float32) for _ in range(count)]


def runs(model: Any, x: Any) -> Any:
    return [model(x) for _ in range(3)][-1][0]


def kernels(model: Any) -> list[str]:
    return [row.operator for found in model.explain() for row in found.rows]


def near(got: Any, want: Any, share: float = 0.05) -> bool:
    return bool(0 < np.linalg.norm(got - want) < share * np.linalg.norm(want))


@pytest.mark.parametrize("options", [
    {}, {"calib_mode": "naive"}, {"calib_mode": "naive", "fused": True, "quantized_dtype": "auto"}])
def test_results_are_near_those_on_floats(file: Any, options: dict[str, Any]) -> None:
    model, x = mx.onnx.load(file), batches()[1]
    want = runs(model, x)
    model.calibrate(batches(), **options)
    got = runs(model, x)
    assert near(got, want)
    assert any("quantize" in name for name in kernels(model))
    # what was calibrated is the same from one run to the next, and in a clone
    np.testing.assert_array_equal(runs(model, x), got)
    np.testing.assert_array_equal(runs(model.clone(), x), got)


def test_other_shapes_have_the_same_ranges(file: Any) -> None:
    model, x = mx.onnx.load(file), batches()[1]
    model.calibrate([*batches(), *batches(1, rows=2)], calib_mode="naive")
    got = runs(model, x)
    for rows in (1, 2, 3):
        np.testing.assert_array_equal(runs(model, x[:rows]), got[:rows])
        assert any("quantize" in name for name in kernels(model))


def test_layers_can_stay_on_floats(file: Any) -> None:
    model = mx.onnx.load(file)
    model.calibrate(batches(), calib_mode="naive",
                    excluded_op_names=["Convolution", "FullyConnected"])
    model(batches()[0])
    assert not any("quantize" in name for name in kernels(model))


def test_plans_on_floats_go(file: Any) -> None:
    model, x = mx.onnx.load(file), batches()[0]
    runs(model, x)
    last = model._last
    assert last is not None
    plan, executor = weakref.ref(last), weakref.ref(last.segments()[0].executor)
    del last
    model.calibrate(batches())
    gc.collect()
    assert plan() is None
    assert executor() is None


def test_it_can_be_calibrated_again(file: Any) -> None:
    model, other, x = mx.onnx.load(file), mx.onnx.load(file), batches()[1]
    model.calibrate([x * 7 for x in batches()], calib_mode="naive")
    model.calibrate(batches(), calib_mode="naive")
    other.calibrate(batches(), calib_mode="naive")
    np.testing.assert_array_equal(runs(model, x), runs(other, x))


def test_clones_run_in_threads(file: Any) -> None:
    model, x = mx.onnx.load(file), batches()[1]
    model.calibrate(batches(), calib_mode="naive")
    want = runs(model, x)
    wrong: list[int] = []

    def work(clone: Any) -> None:
        wrong.extend(i for i in range(30) if not np.array_equal(clone(x)[0], want))

    threads = [threading.Thread(target=work, args=(model.clone(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(("given", "options", "error", "said"), [
    ([], {}, ParameterError, "there is no batch"),
    (np.zeros(SHAPE, np.float32), {}, TypeMismatch, "expected an iterable of batches"),
    ([np.zeros(SHAPE, np.float64)], {}, TypeMismatch, "'data' has dtype float64"),
    ([np.zeros((4, 3, 12), np.float32)], {}, ShapeError, "'data' has shape"),
    ([{"x": np.zeros(SHAPE, np.float32)}], {}, NameMismatch, "'data' is missing"),
    ([np.full(SHAPE, np.nan, np.float32)], {}, ParameterError, "not finite"),
    ([np.zeros(SHAPE, np.float32)], {"calib_mode": "none"}, ParameterError,
     "unknown calibration mode none")])
def test_what_can_not_be_leaves_floats(file: Any, given: Any, options: dict[str, Any],
                                       error: type[Exception], said: str) -> None:
    model, x = mx.onnx.load(file), batches()[1]
    want = runs(model, x)
    with pytest.raises(error, match=said):
        model.calibrate(given, **options)
    np.testing.assert_array_equal(runs(model, x), want)
