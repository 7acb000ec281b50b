"""Dense layers whose data are rounded when they come, as ONNX Runtime's quantize_dynamic writes
them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from ndarray_rt.onnx import load
from tests.onnx.helpers import reference
from tests.onnx.whole_graph import RNG, Graph, images, operators, same_numbers

__all__ = ["same_numbers"]


def layer(g: Graph, x: str, weight: Any, scales: Any, zeros: Any, bias: Any = None,
          turned: bool = False) -> str:
    """A layer: `turned` has the factors of each product the other way round."""
    name = g.node("DynamicQuantizeLinear", x)
    g.nodes[-1].output.extend([f"{name}_scale", f"{name}_zero"])
    sums = g.node("Cast", g.node("MatMulInteger", name, g.constant(weight), f"{name}_zero",
                                 g.constant(zeros)), to=TensorProto.FLOAT)
    pair = [f"{name}_scale", g.constant(scales)]
    both = g.node("Mul", *(pair[::-1] if turned else pair))
    made = g.node("Mul", *((both, sums) if turned else (sums, both)))
    if bias is None:
        return made
    return g.node("Add", *((g.constant(bias), made) if turned else (made, g.constant(bias))))


def check(g: Graph, end: str, x: Any, expected: set[str]) -> None:
    proto = g.made(end, TensorProto.FLOAT)
    model = load(proto)
    for n in (len(x), 1):
        want, = reference(proto, {"x": x[:n]})
        np.testing.assert_allclose(model(x[:n])[0], want, rtol=1e-5,
                                   atol=1e-5 * abs(want).max())
    assert set(operators(model)) == expected


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_layers(bias: bool, by_columns: bool, turned: bool) -> None:
    g = Graph(("n", 5, 12))
    weight = RNG.integers(-127, 128, (12, 9)).astype("i1")
    scales = (RNG.random(9).astype("f4") + 0.5) / 500
    zeros = np.zeros(9, "i1")
    if not by_columns:
        scales, zeros = scales[0], zeros[0]
    end = layer(g, "x", weight, scales, zeros,
                RNG.standard_normal(9).astype("f4") if bias else None, turned)
    check(g, end, images(2, 5, 12), {"_contrib_dynamic_fully_connected"})


def test_several_layers_and_weights_of_uint8() -> None:
    g = Graph(("n", 12))
    weight = RNG.integers(1, 255, (12, 9)).astype("u1")
    y = layer(g, "x", weight, np.float32(0.01), np.uint8(128), RNG.standard_normal(9).astype("f4"))
    y = g.node("Relu", y)
    end = layer(g, y, RNG.integers(-127, 128, (9, 7)).astype("i1"), np.float32(0.02), np.int8(0))
    proto = g.made(end, TensorProto.FLOAT)
    model, x = load(proto), images(6, 12)
    want, = reference(proto, {"x": x})
    np.testing.assert_allclose(model(x)[0], want, rtol=0, atol=abs(want).max() / 100)
    assert operators(model).count("_contrib_dynamic_fully_connected") == 2


def test_sums_that_others_read() -> None:
    """They are int32, of the native kernel, less the zero point."""
    g = Graph(("n", 5, 12))
    name = g.node("DynamicQuantizeLinear", "x")
    g.nodes[-1].output.extend([f"{name}_scale", f"{name}_zero"])
    end = g.node("MatMulInteger", name, g.constant(RNG.integers(-127, 128, (12, 9)).astype("i1")),
                 f"{name}_zero")
    proto, x = g.made(end, TensorProto.INT32), images(2, 5, 12)
    model = load(proto)
    np.testing.assert_array_equal(model(x)[0], reference(proto, {"x": x})[0])
    names = [row.operator for plan in model._loaded.plans.values() for step in plan.steps
             for row in step.executor.explain().rows]  # type: ignore[union-attr]
    assert "_qlinear_fully_connected" in names


def test_what_is_no_such_layer() -> None:
    """Scales of other data, and a bias of another shape."""
    g = Graph(("n", 5, 12))
    names = []
    for given in ("x", g.node("Neg", "x")):
        names.append(g.node("DynamicQuantizeLinear", given))
        g.nodes[-1].output.extend([f"{names[-1]}_scale", f"{names[-1]}_zero"])
    weight = g.constant(RNG.integers(-127, 128, (12, 9)).astype("i1"))
    sums = g.node("Cast", g.node("MatMulInteger", names[0], weight, f"{names[0]}_zero"),
                  to=TensorProto.FLOAT)
    other = g.node("Mul", f"{names[1]}_scale", g.constant(np.float32(0.01)))
    end = g.node("Add", g.node("Mul", sums, other), g.constant(np.ones((5, 1), "f4")))
    proto, x = g.made(end, TensorProto.FLOAT), images(2, 5, 12)
    want, = reference(proto, {"x": x})
    np.testing.assert_allclose(load(proto)(x)[0], want, rtol=1e-5)


def test_as_a_symbol() -> None:
    from ndarray_rt.contrib.onnx import import_model
    g = Graph(("n", 12))
    end = layer(g, "x", RNG.integers(-127, 128, (12, 9)).astype("i1"), np.float32(0.01),
                np.int8(0), RNG.standard_normal(9).astype("f4"))
    symbol, _, _ = import_model(g.made(end, TensorProto.FLOAT))
    assert "_contrib_dynamic_fully_connected" in symbol.tojson()
