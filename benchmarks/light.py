"""Weights for the light networks, which have constants in their place: drawn from a fixed seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper


def drawn_input(shape: Any) -> Any:
    """An input of a shape, drawn from a seed of its own."""
    return np.random.default_rng(7).standard_normal(tuple(shape), np.float32)


def with_weights(path: Path) -> Any:
    """The model with drawn initialisers for each ConstantOfShape that is a weight."""
    model = onnx.load(path)
    graph = model.graph
    rng = np.random.default_rng(3)
    shapes = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    made = {node.output[0]: tuple(shapes[node.input[0]]) for node in graph.node
            if node.op_type == "ConstantOfShape"}
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    uses = {name: (node.op_type, k) for node in kept for k, name in enumerate(node.input)}
    for name, shape in made.items():
        op, position = uses.get(name, ("", 0))
        if op == "BatchNormalization" and position in (1, 4):
            values = rng.uniform(0.5, 1.5, shape)
        elif op in ("Conv", "Gemm") and position == 1:
            values = rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        else:
            values = rng.normal(0, 0.1, shape)
        graph.initializer.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
    del graph.node[:]
    graph.node.extend(kept)
    return model
