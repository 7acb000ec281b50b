"""Layers between DequantizeLinear and QuantizeLinear run on numbers of 8 bits, within one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ndarray_rt as mx
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


def check(graph: Graph, end: str, expected: set[str], x: Array, kind: str = "int8") -> None:
    """The model's whole numbers are those of ONNX's reference, computed by these operators
    alone but for the way in."""
    code = TensorProto.INT8 if kind == "int8" else TensorProto.UINT8
    proto = graph.made(end, code)
    model, got = run(proto, x)
    near(got, reference(proto, {"x": x})[0])
    assert set(operators(model)) == {"_quantize_linear", *expected}


__all__ = ["same_numbers"]
STEPS = [(0.03, -128, "int8"), (0.02, 5, "int8"), (0.02, 128, "uint8"), (0.03, 0, "uint8")]


@pytest.mark.parametrize(("scale", "zero", "kind"), STEPS)
@pytest.mark.parametrize("behind", ["", "Relu", "Clip"])
@pytest.mark.parametrize("bias", ["", "int32", "float32"])
def test_convolutions(scale: float, zero: int, kind: str, behind: str, bias: str) -> None:
    """Padding counts as the zero point; of weights each filter has a scale."""
    g = Graph(("n", 6, "h", "w"))
    data = g.through("x", scale, zero, kind)
    ins = [data, g.weight((10, 6, 3, 3))]
    if bias == "int32":
        scales = numpy_helper.to_array(g.constants[-2])
        ins.append(g.node("DequantizeLinear", g.constant(RNG.integers(-900, 900, 10, np.int32)),
                          g.constant((scales * np.float32(scale)).astype("f4")), axis=0))
    elif bias:
        ins.append(g.constant(RNG.standard_normal(10).astype("f4")))
    y = g.node("Conv", *ins, pads=[1] * 4, strides=[2, 1])
    if behind == "Clip":
        y = g.node("Clip", y, g.constant(np.float32(-0.5)), g.constant(np.float32(1.5)))
    elif behind:
        y = g.node(behind, y)
    check(g, g.quantize(y, 0.05, 3, kind), {"_qlinear_conv"}, images(), kind)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("axis", [None, 1])
def test_products(kind: str, axis: int | None) -> None:
    g = Graph(("n", 5, 12))
    y = g.node("MatMul", g.through("x", 0.02, 7, kind), g.weight((12, 9), axis=axis))
    check(g, g.quantize(y, 0.02, -1 if kind == "int8" else 120, kind),
          {"_qlinear_fully_connected"}, images(2, 5, 12), kind)


def test_a_product_with_a_bias_behind() -> None:
    g = Graph(("n", 5, 12))
    y = g.node("MatMul", g.through("x", 0.02, 7, "int8"), g.weight((12, 9), axis=1))
    y = g.node("Add", y, g.constant(RNG.standard_normal(9).astype("f4")))
    check(g, g.quantize(y, 0.05, -1, "int8"), {"_qlinear_fully_connected"}, images(2, 5, 12))


@pytest.mark.parametrize("turned", [0, 1])
def test_gemm(turned: int) -> None:
    g = Graph(("n", 12))
    y = g.node("Gemm", g.through("x", 0.02, 7, "int8"),
               g.weight((9, 12) if turned else (12, 9), axis=1 - turned),
               g.constant(RNG.standard_normal(9).astype("f4")), transB=turned)
    check(g, g.quantize(y, 0.05, -1, "int8"), {"_qlinear_fully_connected"}, images(20, 12))


@pytest.mark.parametrize("zero", [128, 130])
def test_weights_of_uint8(zero: int) -> None:
    """Less their zero point they are int8, or the layer stays on floats."""
    g = Graph(("n", 6, 9, 8))
    y = g.node("Conv", g.through("x", 0.02, 128, "uint8"),
               g.weight((10, 6, 1, 1), "uint8", None, zero))
    end = g.quantize(y, 0.05, 128, "uint8")
    if zero == 128:
        check(g, end, {"_qlinear_conv"}, images(), "uint8")
        return
    model, got = run(g.made(end, TensorProto.UINT8), x := images())
    near(got, reference(g.made(end, TensorProto.UINT8), {"x": x})[0])
    assert "_qlinear_conv" not in operators(model)


@pytest.mark.parametrize("op", ["Add", "Sub", "Sum"])
@pytest.mark.parametrize("behind", ["", "Relu"])
def test_sums(op: str, behind: str) -> None:
    g = Graph(("n", 6, 9, 8))
    left = g.through("x", 0.02, 128, "uint8")
    right = g.through("x", 0.015, 100, "uint8")
    right = g.node("LeakyRelu", right, alpha=2.0 if op == "Sub" else -0.5)
    y = g.node(op, left, g.dequantize(g.quantize(right, 0.03, -9, "int8"), 0.03, -9, "int8"))
    y = g.node(behind, y) if behind else y
    check(g, g.quantize(y, 0.03, 10, "int8"), {"_qlinear_add", "_map_bytes"}, images())


@pytest.mark.parametrize(("op", "attrs"), [
    ("LeakyRelu", {"alpha": 0.1}), ("Sigmoid", {}), ("Tanh", {}), ("HardSwish", {}),
    ("Elu", {"alpha": 0.5}), ("Relu", {})])
def test_functions_are_tables(op: str, attrs: dict[str, Any]) -> None:
    g = Graph(("n", 6, 9, 8))
    y = g.node(op, g.through("x", 0.02, 9, "int8"), **attrs)
    check(g, g.quantize(y, 0.01, 100, "uint8"), {"_map_bytes"}, images(), "uint8")


def test_pools_joins_and_moves() -> None:
    """Maxima, parts one behind the other in other steps, and elements in other places."""
    g = Graph(("n", 6, 9, 8))
    data = g.through("x", 0.03, -5, "int8")
    top = g.through(g.node("MaxPool", data, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2]),
                    0.03, -5, "int8")
    y = g.node("Concat", top, g.through(top, 0.02, 4, "int8"), axis=1)
    y = g.node("Transpose", g.through(y, 0.035, 3, "int8"), perm=[0, 2, 3, 1])
    y = g.node("Reshape", g.through(y, 0.035, 3, "int8"), g.constant(np.array([0, -1])))
    check(g, g.quantize(y, 0.035, 3, "int8"),
          {"_contrib_quantized_pooling", "_contrib_quantized_concat", "_map_bytes", "transpose",
           "Reshape"}, images())


def test_floats_behind_a_layer() -> None:
    """Nobody quantizes the end of the network: the layer gives floats."""
    g = Graph(("n", 12))
    y = g.node("Gemm", g.through("x", 0.02, 7, "int8"), g.weight((9, 12)),
               g.constant(RNG.standard_normal(9).astype("f4")), transB=1)
    proto = g.made(y, TensorProto.FLOAT)
    model, got = run(proto, x := images(20, 12))
    np.testing.assert_allclose(got, reference(proto, {"x": x})[0], rtol=1e-5,
                               atol=1e-5)
    assert set(operators(model)) == {"_quantize_linear", "_qlinear_fully_connected",
                                     "broadcast_add"}


@pytest.mark.parametrize(("channels", "filters", "group"), [(6, 10, 2), (32, 32, 32), (20, 20, 20),
                                                            (4, 8, 4)])
@pytest.mark.parametrize(("scale", "zero", "kind"), STEPS)
def test_groups(channels: int, filters: int, group: int, scale: float, zero: int, kind: str,
                ) -> None:
    """A filter for each channel, too; padding counts as the zero point."""
    g = Graph(("n", channels, 9, 8))
    y = g.node("Conv", g.through("x", scale, zero, kind),
               g.weight((filters, channels // group, 3, 3)),
               g.constant(RNG.standard_normal(filters).astype("f4")), group=group, pads=[1] * 4,
               strides=[2, 1])
    check(g, g.quantize(y, 0.05, 3, kind), {"_qlinear_conv"}, images(2, channels, 9, 8), kind)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("zero", "scale"), [(9, 0.03), (0, 0.03), (9, 0.005)])
@pytest.mark.parametrize(("op", "attrs"), [
    ("AveragePool", {"kernel_shape": [3, 2], "strides": [2, 2]}),
    ("AveragePool", {"kernel_shape": [3, 3], "pads": [1] * 4}),
    ("AveragePool", {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1}),
    ("GlobalAveragePool", {})])
def test_averages(op: str, attrs: dict[str, Any], zero: int, scale: float, kind: str) -> None:
    """In the steps of data, or as convolutions where those are coarser than the output's."""
    g = Graph(("n", 20, 9, 8))
    y = g.node(op, g.through("x", 0.03, zero, kind), **attrs)
    end = g.quantize(y, scale, zero, kind)
    x = images(2, 20, 9, 8) + 2 * images(2, 20, 1, 1)
    counts, pads = "count_include_pad" in attrs, "pads" in attrs
    if scale < 0.03 and pads and not counts:
        expected = {"_quantized", "Pooling"}
    elif scale < 0.03 or (counts and zero):
        expected = {"_qlinear_conv"}
    else:
        expected = {"_contrib_quantized_pooling"}
    proto = g.made(end, TensorProto.INT8 if kind == "int8" else TensorProto.UINT8)
    model, got = run(proto, x)
    # averages of an even number often lie between two steps
    apart = np.abs(got.astype(int) - reference(proto, {"x": x})[0])
    assert apart.max() <= 1
    assert (apart > 0).mean() < 0.2
    assert got.std() > 3
    assert set(operators(model)) == {"_quantize_linear", *expected}


@pytest.mark.parametrize("attrs", [{"pads": [0, 1, 2, 1]}, {"axis": 1}])
def test_what_has_no_form_stays_on_floats(attrs: dict[str, Any]) -> None:
    """Pads that differ, scales along another axis."""
    g = Graph(("n", 6, 9, 8))
    axis = attrs.pop("axis", 0)
    y = g.node("Conv", g.through("x", 0.02, 128, "uint8"), g.weight((10, 6, 3, 3), axis=axis),
               **attrs)
    proto = g.made(g.quantize(y, 0.05, 128, "uint8"), TensorProto.UINT8)
    model, got = run(proto, x := images())
    near(got, reference(proto, {"x": x})[0])
    assert "_qlinear_conv" not in operators(model)


def test_values_that_others_read() -> None:
    """Floats and whole numbers of one layer, both of them outputs, and an input of whole numbers.
    """
    g = Graph(("n", 6, 9, 8))
    y = g.node("Conv", g.through("x", 0.02, 128, "uint8"), g.weight((10, 6, 1, 1)))
    q = g.quantize(y, 0.05, 128, "uint8")
    proto = g.made(q, TensorProto.UINT8)
    proto.graph.output.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, None))
    x = images()
    want = reference(proto, {"x": x})
    got = load(proto)(x)
    near(got[0], want[0])
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-5)


def test_weights_that_are_quantized_in_the_graph() -> None:
    g = Graph(("n", 6, 9, 8))
    weight = g.through(g.constant(RNG.standard_normal((10, 6, 3, 3)).astype("f4")), 0.02, 0, "int8")
    y = g.node("Conv", g.through("x", 0.02, 128, "uint8"), weight)
    check(g, g.quantize(y, 0.2, 128, "uint8"), {"_qlinear_conv"}, images(), "uint8")


def test_other_batches_share_weights() -> None:
    g = Graph(("n", 6, 9, 8))
    y = g.node("Conv", g.through("x", 0.02, 128, "uint8"), g.weight((60, 6, 3, 3)))
    y = g.node("Relu", y)
    y = g.node("Conv", g.through(y, 0.05, 0, "uint8"), g.weight((60, 60, 3, 3)))
    proto = g.made(g.quantize(y, 0.05, 128, "uint8"), TensorProto.UINT8)
    model = load(proto)
    for n in (1, 3, 1):
        x = images(n, 6, 9, 8)
        near(model(x)[0], reference(proto, {"x": x})[0])
    assert model._loaded.constants.count == 4


def test_as_a_symbol_and_back_from_its_files(tmp_path: Any) -> None:
    g = Graph(("n", 6, 9, 8))
    y = g.node("Conv", g.through("x", 0.02, 128, "uint8"), g.weight((10, 6, 3, 3)))
    end = g.through(y, 0.05, 100, "uint8")
    x, proto = images(), g.made(end, TensorProto.FLOAT)
    want = load(proto)(x)[0]
    made = mx.contrib.onnx.import_model(proto)
    mx.model.save_checkpoint(str(tmp_path / "q"), 0, *made)
    symbol, args, aux = mx.model.load_checkpoint(str(tmp_path / "q"), 0)
    assert np.dtype(np.int8) in {value.dtype for value in args.values()}
    executor = symbol.bind(mx.cpu(), {**args, "x": mx.nd.array(x)}, grad_req="null", aux_states=aux)
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), want)
