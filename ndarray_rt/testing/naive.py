"""A symbol as numpy sees it: each node by itself, on arrays of its own. The model for executors.

No plan, no capture, no oneDNN, no memory that is used twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import config
from .._array.copy import read_numpy, write_numpy
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..imperative.call import infer_outputs
from ..op.context import INFERENCE, TRAINING, Mode, OpContext
from ..op.dispatch import dispatch
from ..op.random_state import RandomState
from ..storage.stream import Stream
from ..symbol.gradient import gradient_graph
from ..symbol.node import Entry, Node, topological
from ..symbol.symbol import Symbol

Array = np.ndarray[Any, np.dtype[Any]]
_stream = Stream()
# errors of float32 that another order of summation may make in one operator, of its greatest value
JITTER = 4 * float(np.finfo(np.float32).eps)


def from_numpy_copy(value: Array) -> NDArray:
    """A new array with these contents, of the same dtype."""
    array = new_array(value.shape, value.dtype)
    write_numpy(array, value, _stream)
    return array


class NaiveExecutor:
    """Runs a symbol as an Executor would, but naively; holds numpy arrays only.

    `args`, `aux` and `grads` are numpy arrays by name and may be changed between runs. `requests`
    are 'null', 'write' or 'add' by name. Floats of all inputs are cast to `dtype` where it is
    given. `values` are the contents of each entry of the last run. With a `jitter` each operator's
    result is wrong at random by as much as float32 may be in a right computation.
    """

    def __init__(self, symbol: Symbol, args: Mapping[str, Array], aux: Mapping[str, Array],
                 requests: Mapping[str, str], grads: Mapping[str, Array] | None = None,
                 dtype: Any = None, jitter: np.random.Generator | None = None) -> None:
        def own(given: Mapping[str, Array]) -> dict[str, Array]:
            return {name: np.array(value, dtype if value.dtype.kind == "f" else None)
                    for name, value in given.items()}
        self.symbol = symbol
        self.args, self.aux, self.grads = own(args), own(aux), own(grads or {})
        self.requests = {n: r for n, r in requests.items() if r != "null"}
        for name in self.requests:
            self.grads.setdefault(name, np.zeros_like(self.args[name]))
        self.jitter = jitter
        self.dtype = dtype
        self.context = OpContext(random=RandomState())
        self.values: dict[Entry, Array] = {}
        self.order = topological(symbol.entries)
        self._head_vars = [Entry(Node(None, f"head{i}"), 0) for i in range(len(symbol))]
        variables = {n.name: Entry(n, 0) for n in self.order if n.is_variable}
        found = gradient_graph(symbol.entries, self._head_vars,
                               [variables[name] for name in self.requests])
        self._gradients = dict(zip(self.requests, found, strict=True))
        wanted = [entry for entry in found if entry is not None]
        seen = set(self.order)
        self._backward = [node for node in topological(wanted) if node not in seen]

    def forward(self, is_train: bool = False, seed: int = 0) -> list[Array]:
        """The outputs, with the generator of random numbers begun at `seed`."""
        self.context.random.seed(seed)
        self.values = {}
        self._run(self.order, is_train)
        return [self.values[entry].copy() for entry in self.symbol.entries]

    def backward(self, head_grads: Sequence[Array]) -> dict[str, Array]:
        """The gradients by name, of the last forward: overwritten or added to as requested."""
        for var, grad in zip(self._head_vars, head_grads, strict=True):
            self.values[var] = grad
        for node in self.order:
            if node.name in self.aux:
                self._load(node)  # a backward before this one may have written to it
        self._run(self._backward, True)
        for name, entry in self._gradients.items():
            value = np.zeros_like(self.args[name]) if entry is None else self.values[entry]
            prior = self.grads[name] if self.requests[name] == "add" else 0
            self.grads[name] = np.asarray(prior + value, value.dtype)
        return self.grads

    def _run(self, order: Sequence[Node], is_train: bool) -> None:
        with config.override(NDRT_ONEDNN=False, NDRT_VALIDATE=False):
            for node in order:
                if node.op is None:
                    self._load(node)
                else:
                    self._step(node, TRAINING if is_train else INFERENCE)

    def _load(self, node: Node) -> None:
        for given in (self.args, self.aux):
            if node.name in given:
                self.values[Entry(node, 0)] = given[node.name].copy()

    def _step(self, node: Node, mode: Mode) -> None:
        op, params = node.op, node.params
        assert op is not None
        assert params is not None
        ins = [from_numpy_copy(self.values[entry]) for entry in node.inputs]
        outs = [new_array(shape, dtype) for shape, dtype in infer_outputs(op, params, ins)]
        dispatch(op, params, self.context, ins, outs, [Req.kWriteTo] * len(outs), node.name,
                 mode)
        for entry, out in zip(node.outputs, outs, strict=True):
            value = read_numpy(out, _stream)
            if not ins and self.dtype is not None and value.dtype.kind == "f":
                value = value.astype(self.dtype)  # what is made from parameters alone
            self.values[entry] = self._shaken(value)
        for position in op.mutated(params):
            written = node.inputs[position].node.name
            self.aux[written] = read_numpy(ins[position], _stream)

    def _shaken(self, value: Array) -> Array:
        if self.jitter is None or value.dtype.kind != "f" or not value.size:
            return value
        wrong = self.jitter.uniform(-1, 1, value.shape) * (JITTER * float(np.abs(value).max()))
        # zeros are exact: what a relu or a mask cut off
        return np.asarray(value + np.where(value == 0, 0, wrong), value.dtype)
