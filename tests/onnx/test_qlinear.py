"""QLinearConv and its like, those of ONNX Runtime too, on numbers of 8 bits, within one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from ndarray_rt.errors import ModelFormatError
from ndarray_rt.onnx import load
from tests.onnx.whole_graph import (
    RNG,
    Array,
    Graph,
    images,
    near,
    operators,
    run,
    same_numbers,
)

from .helpers import reference

__all__ = ["same_numbers"]
X = (0.02, 7, "int8")
Y = (0.05, 3, "int8")
# name of a layer -> its operator of the engine
CONV, DENSE = {"_qlinear_conv"}, {"_qlinear_fully_connected"}


def steps(g: Graph, scale: float, zero: int, kind: str) -> list[str]:
    """Names of a scale and a zero point."""
    dtype = np.int8 if kind == "int8" else np.uint8
    return [g.constant(np.float32(scale)), g.constant(dtype(zero))]


def filters(shape: tuple[int, ...], axis: int = 0) -> tuple[Array, Array]:
    values = RNG.integers(-127, 128, shape).astype("i1")
    return values, (RNG.random(shape[axis]).astype("f4") + 0.5) / 500


def check(g: Graph, end: str, x: Array, want: Any, expected: set[str]) -> None:
    model, got = run(g.made(end, TensorProto.INT8), x)
    near(got, want)
    assert set(operators(model)) == {"_quantize_linear", *expected}


@pytest.mark.parametrize(("attrs", "expected"), [
    ({"pads": [1] * 4, "strides": [2, 1]}, CONV),
    ({"group": 2}, CONV)])
def test_convolution(attrs: dict[str, Any], expected: set[str]) -> None:
    g, x = Graph(("n", 6, "h", "w")), images()
    weight, scales = filters((10, 6 // attrs.get("group", 1), 3, 3))
    bias = RNG.integers(-900, 900, 10).astype("i4")
    end = g.node("QLinearConv", g.quantize("x", *X), *steps(g, *X), g.constant(weight),
                 g.constant(scales), g.constant(np.zeros(10, "i1")), *steps(g, *Y),
                 g.constant(bias), **attrs)
    plain = Graph(("n", 6, "h", "w"))
    made = plain.node("Conv", plain.through("x", *X), plain.constant(
        weight * scales.reshape(-1, 1, 1, 1)), plain.constant(
        (bias * (scales * np.float32(X[0]))).astype("f4")), **attrs)
    proto = plain.made(plain.quantize(made, *Y), TensorProto.INT8)
    model, got = run(g.made(end, TensorProto.INT8), x)
    near(got, reference(proto, {"x": x})[0])
    assert {row for row in operators(model) if row != "_quantize_linear"} <= {
        *expected, "_fused_Convolution"}


@pytest.mark.parametrize(("op", "is_whole"), [("QLinearMatMul", False), ("MatMulInteger", True)])
def test_products(op: str, is_whole: bool) -> None:
    g, x = Graph(("n", 5, 12)), images(2, 5, 12)
    weight, scales = filters((12, 9), 1)
    q, w = g.quantize("x", *X), g.constant(weight)
    whole = np.clip(np.rint(x / np.float32(X[0])) + X[1], -128, 127).astype(int) - X[1]
    if is_whole:
        end = g.node(op, q, w, g.constant(np.int8(X[1])))
        model, got = run(g.made(end, TensorProto.INT32), x)
        np.testing.assert_array_equal(got, whole @ weight.astype(int))
        assert set(operators(model)) == {"_quantize_linear", *DENSE}
        return
    end = g.node(op, q, *steps(g, *X), w, g.constant(scales), g.constant(np.zeros(9, "i1")),
                 *steps(g, *Y))
    factor = (np.float32(X[0]) * scales / np.float32(Y[0]))
    want = np.clip(np.rint(whole @ weight.astype(int) * factor) + Y[1], -128, 127).astype("i1")
    check(g, end, x, want, DENSE)


def test_convolutions_in_int32() -> None:
    g, x = Graph(("n", 6, 9, 8)), images()
    weight, _ = filters((10, 6, 3, 3))
    end = g.node("ConvInteger", g.quantize("x", 0.02, 130, "uint8"), g.constant(weight),
                 g.constant(np.uint8(130)), pads=[1] * 4)
    proto = g.made(end, TensorProto.INT32)
    model, got = run(proto, x)
    np.testing.assert_array_equal(got, reference(proto, {"x": x})[0])
    assert set(operators(model)) == {"_quantize_linear", *CONV}


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("is_whole", [True, False])
def test_gemm(turned: int, is_whole: bool) -> None:
    """Weights that int8 can not hold less their zero point are floats between."""
    g, x = Graph(("n", 12)), images(20, 12)
    weight, scales = filters((9, 12) if turned else (12, 9), 1 - turned)
    weight.flat[0] = 127
    zero, bias = 0 if is_whole else -100, RNG.integers(-900, 900, 9).astype("i4")
    end = g.microsoft(
        "QGemm", g.quantize("x", *X), *steps(g, *X), g.constant(weight), g.constant(scales),
        g.constant(np.full(9, zero, "i1")), g.constant(bias), *steps(g, *Y), transB=turned)
    whole = np.clip(np.rint(x / np.float32(X[0])) + X[1], -128, 127).astype(int) - X[1]
    rows = weight.astype(int) - zero
    total = whole @ (rows.T if turned else rows) + bias
    want = np.clip(np.rint(total * (np.float32(X[0]) * scales / np.float32(Y[0]))) + Y[1], -128,
                   127).astype("i1")
    check(g, end, x, want, DENSE if is_whole else {"_dequantize_linear", "FullyConnected"})


def quantized(make: Callable[[Graph, str], str], x: Array) -> Array:
    """What an operator on floats between gives."""
    g = Graph(("n", *x.shape[1:]))
    proto = g.made(g.quantize(make(g, g.through("x", *X)), *Y), TensorProto.INT8)
    made: Array = reference(proto, {"x": x})[0]
    return made


@pytest.mark.parametrize(("name", "attrs", "expected"), [
    ("LeakyRelu", {"alpha": -0.5}, {"_map_bytes"}),
    ("Sigmoid", {}, {"_map_bytes"}),
    ("AveragePool", {"kernel_shape": [2, 3], "strides": [1, 2]}, {"_dequantize_linear", "Pooling"}),
    ("GlobalAveragePool", {}, {"_dequantize_linear", "Pooling"})])
def test_single(name: str, attrs: dict[str, Any], expected: set[str]) -> None:
    g, x = Graph(("n", 6, 9, 8)), 4 * images(3, 6, 9, 8) + 2 * images(3, 6, 1, 1)
    end = g.microsoft(f"QLinear{name}", g.quantize("x", *X), *steps(g, *X),
                      *steps(g, 0.01, -20, "int8"), **attrs)
    plain = Graph(("n", 6, 9, 8))
    made = plain.quantize(plain.node(name, plain.through("x", *X), **attrs), 0.01, -20, "int8")
    proto = plain.made(made, TensorProto.INT8)
    check(g, end, x, reference(proto, {"x": x})[0], expected)


@pytest.mark.parametrize(("name", "expected"), [
    ("Add", {"_qlinear_add"}), ("Mul", {"_dequantize_linear", "elemwise_mul"})])
def test_pairs(name: str, expected: set[str]) -> None:
    g, x = Graph(("n", 6, 9, 8)), images()
    q = g.quantize("x", *X)
    end = g.microsoft(f"QLinear{name}", q, *steps(g, *X), q, *steps(g, *X), *steps(g, *Y))
    want = quantized(lambda plain, data: plain.node(name, data, data), x)
    check(g, end, x, want, expected)


@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (11, 2), (11, 1)])
def test_softmax(opset: int, axis: int) -> None:
    """Below set 13 all axes from one on are one."""
    g, x = Graph(("n", 6, 9)), 3 * images(2, 6, 9)
    q = g.quantize("x", 0.05, 7, "int8")
    end = g.microsoft("QLinearSoftmax", q, *steps(g, 0.05, 7, "int8"), *steps(g, 1 / 256, -128,
                                                                              "int8"),
                      opset=opset, axis=axis)
    floats = (np.clip(np.rint(x / np.float32(0.05)) + 7, -128, 127) - 7) * 0.05
    powers = np.exp(floats)
    axes = (1, 2) if (opset, axis) == (11, 1) else axis
    want = np.clip(np.rint(powers / powers.sum(axes, keepdims=True) * 256) - 128, -128, 127)
    want = want.astype("i1")
    model, got = run(g.made(end, TensorProto.INT8), x)
    near(got, want)
    assert "softmax" in operators(model)


def test_concat() -> None:
    g, x = Graph(("n", 6, 9, 8)), images()
    q = g.quantize("x", *X)
    end = g.microsoft("QLinearConcat", *steps(g, *Y), q, *steps(g, *X), q, *steps(g, *X), axis=1)
    want = quantized(lambda plain, data: plain.node("Concat", data, data, axis=1), x)
    check(g, end, x, want, {"_map_bytes", "_contrib_quantized_concat"})


def test_maxima_of_whole_numbers() -> None:
    g, x = Graph(("n", 6, 9, 8)), images()
    end = g.node("MaxPool", g.quantize("x", *X), kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    proto = g.made(end, TensorProto.INT8)
    check(g, end, x, reference(proto, {"x": x})[0],
          {"_contrib_quantized_pooling"})


def test_images_of_whole_numbers() -> None:
    """An input of the model that is uint8 is no step in NumPy."""
    g = Graph(("n", 6, 9, 8))
    g.inputs[0].type.tensor_type.elem_type = TensorProto.UINT8
    weight, scales = filters((10, 6, 3, 3))
    end = g.node("QLinearConv", "x", *steps(g, 0.02, 130, "uint8"), g.constant(weight),
                 g.constant(scales), g.constant(np.zeros(10, "i1")), *steps(g, *Y))
    proto = g.made(end, TensorProto.INT8)
    x = RNG.integers(0, 256, (2, 6, 9, 8)).astype("u1")
    model, got = run(proto, x)
    near(got, reference(proto, {"x": x})[0])
    assert operators(model) == ["_qlinear_conv"]


@pytest.mark.parametrize(("op", "value"), [
    *((op, value) for value in (float("nan"), float("inf"))
      for op in ("QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearConcat", "Constant")),
    *((op, 0.0) for op in ("QuantizeLinear", "QLinearConv", "QLinearConcat"))])
def test_scales_that_are_none(op: str, value: float) -> None:
    """They are told when the model is loaded, with the node and the value."""
    g = Graph(("n", 6, 9, 8))
    wrong = g.constant(np.array([0.5, value, 0.25], "f4"))
    if op == "Constant":
        op, wrong = "DequantizeLinear", g.node("Constant", value_float=value)
    q, good = g.quantize("x", *X), steps(g, *X)
    if op == "QuantizeLinear":
        end = g.node(op, "x", wrong, g.constant(np.zeros(3, "i1")))
    elif op == "DequantizeLinear":
        end = g.node(op, q, wrong)
    elif op == "QLinearConcat":
        end = g.microsoft(op, *good, q, *good, q, wrong, good[1], axis=1)
    else:
        end = g.node(op, q, *good, g.constant(np.ones((3, 6, 1, 1), "i1")), wrong,
                     g.constant(np.zeros(3, "i1")), *good)
    shown = {"nan": "nan", "inf": "inf"}.get(str(value), "0.0")
    with pytest.raises(ModelFormatError, match=rf"{op} node \d+ .*scale '\w+' is {shown}, "
                                               "expected a finite number"):
        load(g.made(end, TensorProto.INT8))


def test_filters_of_scale_0_are_0() -> None:
    """As exporters write filters whose weights are all 0."""
    g, x = Graph(("n", 6, 9, 8)), images()
    weight, scales = filters((10, 6, 3, 3))
    scales[3] = 0
    read = g.node("DequantizeLinear", g.constant(weight), g.constant(scales),
                  g.constant(np.zeros(10, "i1")), axis=0)
    proto = g.made(g.node("Conv", g.through("x", *X), read), TensorProto.FLOAT)
    made = load(proto)(x)[0]
    np.testing.assert_allclose(made, reference(proto, {"x": x})[0], rtol=1e-4, atol=1e-5)
    assert not made[:, 3].any()


def test_scales_below_0_turn_signs() -> None:
    """As in ONNX Runtime."""
    g, x = Graph(("n", 6, 9, 8)), images()
    end = g.through("x", -0.02, 5, "int8")
    proto = g.made(end, TensorProto.FLOAT)
    want, = reference(proto, {"x": x})
    np.testing.assert_allclose(load(proto)(x)[0], want, rtol=1e-6)


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
@pytest.mark.parametrize("block", [0, 4])
def test_weights_of_4_bits(kind: str, block: int) -> None:
    """A scale for each column, or for each block of rows of it."""
    pytest.importorskip("ml_dtypes")
    g, x = Graph(("n", 12), 21), images(5, 12)
    low = -8 if kind == "INT4" else 0
    whole = RNG.integers(low, low + 16, (12, 9))
    rows = 12 // block if block else 1
    scales = (RNG.random((rows, 9)).astype("f4") + 0.5) / 20
    zeros = RNG.integers(low + 4, low + 12, (rows, 9))
    kinds = [helper.make_tensor(name, getattr(TensorProto, kind), value.shape, value.ravel())
             for name, value in (("w", whole), ("z", zeros if block else zeros[0]))]
    g.constants += kinds
    attrs = {"axis": 0, "block_size": block} if block else {"axis": 1}
    weight = g.node("DequantizeLinear", "w", g.constant(scales if block else scales[0]), "z",
                    **attrs)
    proto = g.made(g.node("MatMul", "x", weight), TensorProto.FLOAT)
    model, got = run(proto, x)
    each = np.repeat(scales, 12 // rows, 0), np.repeat(zeros, 12 // rows, 0)
    np.testing.assert_allclose(got, x @ ((whole - each[1]) * each[0]).astype("f4"), rtol=1e-4,
                               atol=1e-4)
    assert operators(model) == ["FullyConnected"]
