"""A graph as a user would write it with nd and autograd: one call a node, recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt import autograd
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt.imperative.invoke import invoke_params
from ndarray_rt.imperative.tape import entry_of
from ndarray_rt.op.random_state import default_random_state
from ndarray_rt.symbol.node import Entry, topological
from ndarray_rt.testing.naive import from_numpy_copy
from ndarray_rt.testing.random_graphs import RandomGraph, Result, read

Array = np.ndarray[Any, np.dtype[Any]]


class ImperativeGraph:
    """The graph's arrays as leaves of autograd."""

    def __init__(self, graph: RandomGraph) -> None:
        self.graph = graph
        self.args = {n: from_numpy_copy(v) for n, v in graph.args.items()}
        self.aux = {n: from_numpy_copy(v) for n, v in graph.aux.items()}
        self.grads = {n: from_numpy_copy(v) for n, v in graph.grads.items()}
        for name, grad in self.grads.items():
            autograd.mark_variables(self.args[name], grad, graph.requests[name])

    def run(self) -> Result:
        """Forward under record, then backward."""
        default_random_state().seed(self.graph.seed)
        with autograd.record():
            outputs = self._forward()
        heads = [(y, from_numpy_copy(g)) for y, g in
                 zip(outputs, self.graph.head_grads, strict=True) if self._depends(y)]
        if heads:
            autograd.backward([y for y, _ in heads], [g for _, g in heads])
        return Result([read(y) for y in outputs], {n: read(g) for n, g in self.grads.items()},
                      {n: read(a) for n, a in self.aux.items()})

    @staticmethod
    def _depends(array: NDArray) -> bool:
        return entry_of(array) is not None

    def _forward(self) -> list[NDArray]:
        values: dict[Entry, NDArray] = {}
        for node in topological(self.graph.symbol.entries):
            if node.op is None:
                given = self.args if node.name in self.args else self.aux
                values[Entry(node, 0)] = given[node.name]
                continue
            assert node.params is not None
            made = invoke_params(node.op, node.params, [values[e] for e in node.inputs])
            made = made if isinstance(made, list) else [made]
            values.update(zip(node.outputs, made, strict=False))
        return [values[entry] for entry in self.graph.symbol.entries]
