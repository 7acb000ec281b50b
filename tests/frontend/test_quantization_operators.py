"""Operators on quantized numbers where calls of the oracle do not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import NameMismatch, ParameterError, ShapeError, TypeMismatch
from ndarray_rt.op.dispatch import observe
from ndarray_rt.ops.quantization.recurrent import Numbers

NAMES = ("a", "b", "a_min", "a_max", "b_min", "b_max")
A = np.arange(-8, 8, dtype=np.int8).reshape(1, 2, 2, 4)
SUMS = [192, 147, 108, 75, 48, 27, 12, 3, 0, 3, 12, 27, 48, 75, 108, 147]
CUT = [4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3]


@pytest.mark.parametrize(("params", "dtype", "want", "ends"), [
    ({}, "int32", SUMS, (-798865.5, 798865.5)),
    ({"min_calib_range": -2.0, "max_calib_range": 0.04}, "int8", CUT, (-2.0, 0.04)),
    ({"enable_float_output": True}, "float32", [0.00036908854 * v for v in SUMS], None)])
def test_a_product_is_that_of_mxnets_executor(params: Any, dtype: str, want: Any,
                                              ends: Any) -> None:
    """What MXNet 1.9.1 gave for this symbol."""
    product = mx.sym.contrib.quantized_elemwise_mul(*map(mx.sym.var, NAMES), **params)
    values: dict[str, Any] = {"a": mx.nd.array(A, dtype="int8"),
                              "b": mx.nd.array(3 * A, dtype="int8")}
    values |= {name: mx.nd.array([end])
               for name, end in zip(NAMES[2:], (-1, 2, -3, 1), strict=True)}
    out, *told = product.bind(mx.cpu(), values, grad_req="null").forward()
    assert out.dtype == np.dtype(dtype)
    np.testing.assert_allclose(out.asnumpy().reshape(-1), want, rtol=1e-6 if ends is None else 0)
    assert [end.asscalar() for end in told] == ([] if ends is None else list(np.float32(ends)))


def test_statistics_of_batch_norm_are_auxiliary_states() -> None:
    norm = mx.sym.contrib.quantized_batch_norm(name="n")
    assert norm.list_arguments() == ["n_data", "n_gamma", "n_beta", "n_min_data", "n_max_data"]
    assert norm.list_auxiliary_states() == ["n_moving_mean", "n_moving_var"]
    assert norm.list_outputs() == ["n_output", "n_min_output", "n_max_output"]


def test_wrong_arguments_are_named() -> None:
    one, data = mx.nd.ones((1,)), mx.nd.array(A, dtype="int8")
    contrib: Any = mx.nd.contrib
    with pytest.raises(TypeMismatch, match="_contrib_dequantize: data has dtype int32"):
        contrib.dequantize(data.astype("int32"), one, one)
    with pytest.raises(ShapeError, match=r"_contrib_dequantize: max_range has shape \(2,\)"):
        contrib.dequantize(data, one, mx.nd.ones((2,)))
    with pytest.raises(ParameterError, match="'pool_type' got 'sum', expected one of 'max'"):
        contrib.quantized_pooling(data, one, one, kernel=(2, 2), pool_type="sum")
    with pytest.raises(ParameterError, match="expected both: there is no quantized batch norm"):
        contrib.quantized_batch_norm(data, *[mx.nd.ones((2,))] * 4, one, one)
    with pytest.raises(ShapeError, match="hist has 100 bins, expected an odd number"):
        contrib.calibrate_entropy(mx.nd.ones((100,)), mx.nd.ones((101,)))
    with pytest.raises(TypeMismatch, match="_contrib_quantized_elemwise_mul: lhs has dtype uint8"):
        contrib.quantized_elemwise_mul(data.astype("uint8"), data, one, one, one, one)


def test_sums_are_exact_at_the_ends() -> None:
    """Where 16 bits would saturate, and where int32 comes round."""
    one = mx.nd.ones((1,))
    for channels, x, w, want in ((64, 255, 127, 2072640), (64, 127, 127, 1032256),
                                 (70000, 255, 127, 70000 * 255 * 127 - 2**32)):
        data = mx.nd.array(np.full((1, channels), x), dtype="uint8")
        weight = mx.nd.array(np.full((1, channels), w), dtype="int8")
        dense = mx.nd.contrib.quantized_fully_connected(
            data, weight, *[one] * 4, num_hidden=1, no_bias=True)[0]
        assert dense.asscalar() == want
        windows = mx.nd.contrib.quantized_conv(
            data.reshape((1, channels, 1, 1)), weight.reshape((1, channels, 1, 1)), *[one] * 4,
            kernel=(1, 1), num_filter=1, no_bias=True)[0]
        assert windows.asscalar() == want


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_bias_beyond_int32_ends_there(dtype: str, sign: int) -> None:
    small, large = mx.nd.array([1e-3]), mx.nd.array([1e3])
    data, weight = mx.nd.ones((1, 2), dtype=dtype), mx.nd.ones((1, 2), dtype="int8") * sign
    bias = mx.nd.array([100 * sign], dtype="int8")
    sums = mx.nd.contrib.quantized_fully_connected(
        data, weight, bias, -small, small, -small, small, -large, large, num_hidden=1)[0]
    assert sums.asscalar() == (2**31 - 1 if sign > 0 else -2**31)


@pytest.mark.parametrize(("dtype", "nan"), [("int8", 127), ("uint8", 0)])
def test_zeros_stay_0_and_nan_becomes_what_mxnet_makes_of_it(dtype: str, nan: int) -> None:
    contrib, zeros = mx.nd.contrib, mx.nd.zeros((1, 3))
    made = contrib.quantize_v2(zeros, out_type=dtype)[0]
    assert made.asnumpy().tolist() == [[0] * 3]
    made = contrib.quantize(zeros, mx.nd.zeros((1,)), mx.nd.zeros((1,)), out_type=dtype)[0]
    assert made.asnumpy().tolist() == [[0] * 3]
    sums = contrib.requantize(zeros.astype("int32"), mx.nd.zeros((1,)), mx.nd.ones((1,)),
                              out_type=dtype)[0]
    assert sums.asnumpy().tolist() == [[0] * 3]
    made = contrib.quantize_v2(mx.nd.array([np.nan, 1.0]), out_type=dtype)[0]
    assert made.asnumpy()[0] == nan


def test_products_and_embeddings_run_natively() -> None:
    """At the ends of int8, too."""
    contrib, one = mx.nd.contrib, mx.nd.ones((1,))
    ends = mx.nd.array([-128, 127, -128, 3], dtype="int8"), mx.nd.array([-128, 127, 127, -7],
                                                                         dtype="int8")
    said: list[Any] = []
    stop = observe(lambda call: said.append((call.op.name, call.reason)))
    try:
        sums = contrib.quantized_elemwise_mul(*ends, -one, one, -one, one)[0].asnumpy()
        bytes_ = contrib.quantized_elemwise_mul(*ends, -one, one, -one, one, min_calib_range=-0.5,
                                                max_calib_range=0.5)[0].asnumpy()
        rows = contrib.quantized_embedding(mx.nd.array([1, 0, 9]), ends[0].reshape((2, 2)), -one,
                                           one, input_dim=2, output_dim=2)[0].asnumpy()
    finally:
        stop()
    assert sums.tolist() == [16384, 16129, -16256, -21]
    assert bytes_.tolist() == [127, 127, -128, 0]
    assert rows.tolist() == [[-128, 3], [-128, 127], [-128, 3]]
    assert [call for call in said if "quantized" in call[0]] == [
        ("_contrib_quantized_elemwise_mul", None)] * 2 + [("_contrib_quantized_embedding", None)]


def calls_with_ranges(low: Any, high: Any) -> dict[str, Any]:
    """Calls of the operators that read ranges."""
    contrib: Any = mx.nd.contrib
    one = mx.nd.ones((1,))
    data = mx.nd.array(A, dtype="int8")
    weight, bias = mx.nd.ones((1, 2, 1, 1), dtype="int8"), mx.nd.ones((1,), dtype="int8")
    dense = mx.nd.ones((1, 16), dtype="int8")
    return {
        "quantize": lambda: contrib.quantize(data.astype("float32"), low, high),
        "dequantize": lambda: contrib.dequantize(data, low, high),
        "requantize": lambda: contrib.requantize(data.astype("int32"), low, high),
        "quantized_conv": lambda: contrib.quantized_conv(
            data, weight, bias, low, high, *[one] * 4, kernel=(1, 1), num_filter=1),
        "quantized_fully_connected": lambda: contrib.quantized_fully_connected(
            data, dense, bias, *[one] * 4, low, high, num_hidden=1),
        "quantized_concat": lambda: contrib.quantized_concat(
            data, data, low, high, one, one, num_args=2),
        "quantized_elemwise_add": lambda: contrib.quantized_elemwise_add(
            data, data, low, high, one, one),
        "quantized_elemwise_mul": lambda: contrib.quantized_elemwise_mul(
            data, data, one, one, low, high),
        "quantized_batch_norm": lambda: contrib.quantized_batch_norm(
            data, *[mx.nd.ones((2,))] * 4, low, high, min_calib_range=-1, max_calib_range=1),
    }


@pytest.mark.parametrize("name", list(calls_with_ranges(None, None)))
@pytest.mark.parametrize("is_low", [True, False])
def test_ranges_of_nan_are_refused(name: str, is_low: bool) -> None:
    ends = [mx.nd.array([np.nan]), mx.nd.array([1.0])]
    with pytest.raises(ParameterError, match=f"_contrib_{name}.*an end of a range is nan"):
        calls_with_ranges(*(ends if is_low else ends[::-1]))[name]()


@pytest.mark.parametrize("native", [True, False])
def test_ranges_without_an_end_are_refused(native: bool) -> None:
    data, one = mx.nd.array([[1.0, -np.inf, 2.0]]), mx.nd.ones((1,))
    contrib = mx.nd.contrib
    calls: dict[str, Any] = {
        "quantize_v2": lambda: contrib.quantize_v2(data),
        "quantize_asym": lambda: contrib.quantize_asym(data),
        "quantize": lambda: contrib.quantize(data, mx.nd.array([-np.inf]), one)}
    with config.override(NDRT_ONEDNN=native):
        for name, call in calls.items():
            with pytest.raises(ParameterError, match=f"^_contrib_{name}: data has a range from "
                                                     "-inf to .*, expected finite numbers"):
                call()


@pytest.mark.parametrize("end", ["min_calib_range", "max_calib_range"])
def test_calibrated_ranges_are_finite(end: str) -> None:
    quantize: Any = mx.nd.contrib.quantize_v2
    for value in (float("nan"), float("inf")):
        with pytest.raises(ParameterError, match=f"{end}' got {value}"):
            quantize(mx.nd.ones((2,)), **{end: value})


def test_inputs_by_position_are_counted() -> None:
    data, weight = mx.nd.ones((1, 3, 5, 5), dtype="int8"), mx.nd.ones((4, 3, 3, 3), dtype="int8")
    low, high = mx.nd.zeros(1), mx.nd.ones(1)
    with pytest.raises(NameMismatch, match="max_weight; got 4 by position, expected 6; "
                                           "missing: min_weight, max_weight"):
        mx.nd.contrib.quantized_conv(data, weight, low, high, num_filter=4, kernel=(3, 3),
                                     no_bias=True)


@pytest.mark.parametrize("scale", [0, -1, np.inf])
def test_a_cell_refuses_data_without_a_scale(scale: float) -> None:
    data, state = mx.nd.ones((2, 1, 3), dtype="uint8"), mx.nd.zeros((1, 1, 3))
    wants = "the scale of data, is .*, expected a finite number above 0"
    with pytest.raises(ParameterError, match=wants):
        mx.nd.contrib.quantized_rnn(data, mx.nd.zeros(96), state, state, mx.nd.array([scale]),
                                    mx.nd.zeros(1), state_size=3, num_layers=1, mode="lstm")
    with pytest.raises(ParameterError, match=wants):
        Numbers(np.float32(scale), np.float32(0))
