"""Inputs for ONNX models that a fuzzer made, and whether they are worth a run."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ndarray_rt.onnx import Model

MOST_BYTES = 1 << 16  # of a tensor, so that those of a whole file stay within its bound
_MOST_ELEMENTS = 4096
_MOST_TURNS = 8


def drawn_inputs(model: Model, seed: int) -> dict[str, Any] | None:
    """An array for each input, None where one would be large, or is no tensor."""
    source = np.random.default_rng(seed)
    given: dict[str, Any] = {}
    named: dict[Any, int] = {}
    for info in model.inputs:
        if info.kind != "tensor":
            return None
        dims = (2, 3) if info.shape is None else info.shape
        shape = tuple(dim if isinstance(dim, int) else named.setdefault(
            dim, int(source.integers(1, 4))) for dim in dims)
        if prod(max(dim, 1) for dim in shape) > _MOST_ELEMENTS or len(shape) > 32:
            return None
        given[info.name] = _drawn(np.dtype(np.float32) if info.dtype is None else info.dtype,
                                  shape, source)
    return given


def _drawn(dtype: np.dtype[Any], shape: tuple[int, ...], source: np.random.Generator) -> Any:
    if dtype.kind == "O":
        return np.full(shape, "a word", object)
    if dtype.kind in "fc":
        return np.asarray(source.normal(size=shape)).astype(dtype)
    return np.asarray(source.integers(0, 4, shape)).astype(dtype)


def ends_soon(model: Model) -> bool:
    """Whether each loop makes few turns. A file may say that one goes on for ever: that is what
    it computes, and no fault of who runs it."""
    file = model._loaded.file
    known = {info.name: 0 for info in file.inputs}
    loops = []
    for graph in (file.graph, *file.functions.values()):
        for inside in graph.all_graphs():
            for name, array in inside.constants.items():
                known[name] = max(known.get(name, 0), _number(array))
            for node in inside.nodes:
                if node.op == "Loop":
                    loops.append(node.inputs[0] if node.inputs else "")
                if node.op == "Constant":
                    for name in node.outputs:
                        known[name] = max(known.get(name, 0), *map(_number, node.attrs.values()), 0)
    return len(loops) <= 2 and all(known.get(name, _MOST_TURNS + 1) <= _MOST_TURNS
                                   for name in loops)


def _number(value: Any) -> int:
    """The first of its whole numbers, more than allowed for anything else."""
    array = np.asarray(value)
    if array.size and array.dtype.kind in "iu":
        return int(array.reshape(-1)[0])
    return _MOST_TURNS + 1
