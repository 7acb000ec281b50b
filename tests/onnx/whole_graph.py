"""Models with quantized layers, made node by node, and what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ndarray_rt.onnx import Model, load
from ndarray_rt.onnx.plan import Segment

Array = np.ndarray[Any, np.dtype[Any]]
KINDS: dict[str, type[Any]] = {"int8": np.int8, "uint8": np.uint8}
RNG = np.random.default_rng(5)
_START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Each test draws the same ones, whatever ran before it."""
    RNG.bit_generator.state = _START


class Graph:
    """A model that is made node by node; each value is named as the node."""

    def __init__(self, shape: tuple[Any, ...], opset: int = 19) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        self.opset = opset

    def constant(self, value: Any) -> str:
        name = f"k{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op: str, *ins: str, **attrs: Any) -> str:
        name = f"{op}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, ins, [name], name=name, **attrs))
        return name

    def microsoft(self, op: str, *ins: str, **attrs: Any) -> str:
        """A node of ONNX Runtime's own operators."""
        name = self.node(op, *ins, **attrs)
        self.nodes[-1].domain = "com.microsoft"
        return name

    def quantize(self, x: str, scale: float, zero: int, kind: str) -> str:
        return self.node("QuantizeLinear", x, self.constant(np.float32(scale)),
                         self.constant(KINDS[kind](zero)))

    def dequantize(self, q: str, scale: float, zero: int, kind: str) -> str:
        return self.node("DequantizeLinear", q, self.constant(np.float32(scale)),
                         self.constant(KINDS[kind](zero)))

    def through(self, x: str, scale: float, zero: int, kind: str) -> str:
        return self.dequantize(self.quantize(x, scale, zero, kind), scale, zero, kind)

    def weight(self, shape: tuple[int, ...], kind: str = "int8", axis: int | None = 0,
               zero: int = 0) -> str:
        info = np.iinfo(kind)
        values = RNG.integers(max(info.min, -127), info.max + 1, shape).astype(kind)
        values.flat[:2] = max(info.min, -127), info.max
        scales = (RNG.random(1 if axis is None else shape[axis]) + 0.5).astype("f4") / 500
        scales = scales.reshape(()) if axis is None else scales
        zeros = np.full(scales.shape, zero, kind)
        more = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", self.constant(values), self.constant(scales),
                         self.constant(zeros), **more)

    def made(self, name: str, kind: int) -> Any:
        graph = helper.make_graph(self.nodes, "g", self.inputs,
                                  [helper.make_tensor_value_info(name, kind, None)],
                                  self.constants)
        sets = {node.domain: 1 for node in self.nodes} | {"": self.opset}
        return helper.make_model(graph, opset_imports=[
            helper.make_opsetid(*each) for each in sets.items()], ir_version=9)


def operators(model: Model) -> list[str]:
    names = []
    for plan in model._loaded.plans.values():
        for step in plan.steps:
            assert isinstance(step, Segment)
            explained = step.executor.explain()
            assert explained.totals["numpy"] == 0, str(explained)
            names += [row.operator for row in explained.rows]
    return names


def near(got: Array, want: Array) -> None:
    """Within one step, and almost always the same."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    apart = np.abs(got.astype(int) - want.astype(int))
    assert apart.max() <= 1
    assert (apart > 0).mean() < 0.02
    assert want.std() > 3


def run(proto: Any, x: Array) -> tuple[Model, Array]:
    model = load(proto)
    for _ in range(2):
        got = model(x)[0]
    np.testing.assert_array_equal(model(x)[0], got)
    return model, got


def images(*shape: int) -> Array:
    return RNG.standard_normal(shape or (2, 6, 9, 8)).astype(np.float32)
