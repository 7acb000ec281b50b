"""What is wrong with the scales of a model's whole numbers is told when it is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import ModelFormatError
from .graph import Array, Graph, ModelFile, Node

# the inputs of operators that are scales
_PLACES: dict[str, tuple[int, ...]] = {
    "QuantizeLinear": (1,), "DequantizeLinear": (1,), "QLinearConv": (1, 4, 6),
    "QLinearMatMul": (1, 4, 6), "QGemm": (1, 4, 7), "QLinearAdd": (1, 4, 6),
    "QLinearMul": (1, 4, 6), "QLinearLeakyRelu": (1, 3), "QLinearSigmoid": (1, 3),
    "QLinearAveragePool": (1, 3), "QLinearGlobalAveragePool": (1, 3), "QLinearSoftmax": (1, 3)}


def check_scales(file: ModelFile) -> None:
    """ModelFormatError where a constant scale is not finite, or 0 and more than a factor: numbers
    of DequantizeLinear are 0 then. One below 0 only turns signs."""
    given = {info.name for info in file.overridable}
    for graph in (file.graph, *file.functions.values()):
        _check(graph, {}, given, file.file)


def _check(graph: Graph, outer: Mapping[str, Array], given: set[str], file: str) -> None:
    constants = {**outer, **{name: value for name, value in graph.constants.items()
                             if name not in given}}
    for node in graph.nodes:
        if node.op == "Constant" and not node.domain:
            constants[node.outputs[0]] = _constant(node)
        for name in _scales(node):
            value = constants.get(name)
            if value is None or value.dtype.kind != "f":
                continue
            is_factor = node.op == "DequantizeLinear"
            wrong = value[~np.isfinite(value) | ((value == 0) & (not is_factor))]
            if wrong.size:
                raise ModelFormatError(f"the scale {name!r:.200} is {wrong.flat[0]}, expected a "
                                       f"finite number{'' if is_factor else ' that is not 0'}",
                                       file, str(node))
        for inner in node.graphs():
            _check(inner, constants, given, file)


def _constant(node: Node) -> Array:
    value: Any = node.attr("value", node.attr("value_float", node.attr("value_floats", ())))
    return np.asarray(value)


def _scales(node: Node) -> Iterable[str]:
    if node.domain not in ("", "com.microsoft"):
        return ()
    if node.op == "QLinearConcat":
        places: Iterable[int] = (0, *range(3, len(node.inputs), 3))
    else:
        places = _PLACES.get(node.op, ())
    return [node.inputs[i] for i in places if i < len(node.inputs)]
