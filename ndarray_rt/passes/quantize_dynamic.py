"""Dense layers on floats as layers that round their data to 8 bits when they come."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..symbol.node import Entry, Node
from .rewrite import Heads, make, replace

LAYER, WEIGHTS = "_contrib_dynamic_fully_connected", "_quantize_rows"


class Dynamic(NamedTuple):
    """The new graph, and the names of the layers that have 8-bit weights now."""

    heads: Heads
    nodes: list[str]


def quantize_dynamic(heads: Sequence[Entry], shapes: Mapping[str, tuple[int, ...]], dtype: str,
                     excluded_names: Collection[str] = (), excluded_ops: Collection[str] = (),
                     ) -> Dynamic:
    """FullyConnected, and dot with a matrix behind the data, where the weight is one of the
    variables in `shapes`. `dtype` is what data become: "int8", or "uint8" with a zero point."""
    weights: dict[tuple[Node, bool], Node] = {}
    nodes: list[str] = []

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node.op is None or node.op.name in excluded_ops or node.name in excluded_names:
            return None
        found = _layer(node, shapes)
        if found is None:
            return None
        attrs, transposed = found
        source = node.inputs[1].node
        weight = weights.get((source, transposed))
        if weight is None:
            name = f"{source.name}_transposed" if transposed else source.name
            weight = make(WEIGHTS, {"transposed": transposed}, [Entry(source, 0)], name)
            weights[source, transposed] = weight
        nodes.append(node.name)
        inputs = [now[node.inputs[0]], *weight.outputs, *(now[e] for e in node.inputs[2:])]
        return make(LAYER, {**attrs, "data_dtype": dtype}, inputs, node.name).outputs
    return Dynamic(replace(list(heads), change), nodes)


def _layer(node: Node, shapes: Mapping[str, tuple[int, ...]],
           ) -> tuple[dict[str, Any], bool] | None:
    """Parameters of the layer in place of a node, and whether its weight is transposed; None where
    it stays."""
    assert node.op is not None
    if len(node.inputs) < 2 or not node.inputs[1].node.is_variable:
        return None
    shape, params = shapes.get(node.inputs[1].node.name), node.params
    if shape is None or len(shape) != 2 or 0 in shape:
        return None
    if node.op.name == "FullyConnected":
        assert params is not None
        return dict(params.to_attrs()), False
    if node.op.name == "dot" and not getattr(params, "transpose_a", True):
        transposed = not getattr(params, "transpose_b", False)
        return {"num_hidden": shape[transposed], "no_bias": True, "flatten": False}, transposed
    return None


def with_variables(heads: Sequence[Entry]) -> tuple[Heads, dict[str, Entry]]:
    """The graph with variables for its 8-bit weights and their scales, and what these are of
    floats, by names."""
    made: dict[str, Entry] = {}

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node.op is None or node.op.name != WEIGHTS:
            return None
        names = [f"{node.name}_quantize", f"{node.name}_scale"]
        made.update(zip(names, node.outputs, strict=True))
        return [Entry(Node(None, name), 0) for name in names]
    return replace(list(heads), change), made
