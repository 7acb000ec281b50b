"""Nets for tests of CachedOp, and the same operators run one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.imperative.invoke import invoke_params
from ndarray_rt.symbol.node import Entry, topological


def mlp() -> Any:
    x = mx.sym.Variable("data")
    x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=16, name="fc1"), act_type="relu")
    return mx.sym.FullyConnected(x, num_hidden=4, name="fc2")


def convolutional() -> Any:
    x = mx.sym.Variable("data")
    for i, filters in enumerate((8, 16)):
        x = mx.sym.Convolution(x, num_filter=filters, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
        x = mx.sym.BatchNorm(x, fix_gamma=False, momentum=0.8, name=f"bn{i}")
        x = mx.sym.Activation(x, act_type="relu")
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max" if i else "avg")
    return mx.sym.FullyConnected(x, num_hidden=5, name="fc")


def residual() -> Any:
    data = mx.sym.Variable("data")
    x = mx.sym.Convolution(data, num_filter=8, kernel=(1, 1), no_bias=True, name="in")
    y = mx.sym.BatchNorm(x, name="bn")
    y = mx.sym.Activation(y, act_type="relu")
    y = mx.sym.Convolution(y, num_filter=8, kernel=(3, 3), pad=(1, 1), name="conv")
    x = mx.sym.elemwise_add(x, y)
    return mx.sym.Group([mx.sym.Pooling(x, global_pool=True, pool_type="avg"), x])


def dropping() -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    x = mx.sym.Dropout(mx.sym.tanh(x), p=0.5)
    x = mx.sym.FullyConnected(x, num_hidden=12, name="fc2")
    return mx.sym.Dropout(mx.sym.tanh(x), p=0.25)


NETS = {"mlp": (mlp, (3, 6)), "convolutional": (convolutional, (2, 3, 8, 8)),
        "residual": (residual, (2, 4, 5, 5)), "dropping": (dropping, (4, 7))}


class Net:
    """A symbol with arrays for its inputs; data, the first, is new for each number."""

    def __init__(self, name: str, grad_req: str = "write") -> None:
        make, self.shape = NETS[name]
        self.symbol = make()
        self.names = self.symbol.list_inputs()
        shapes = dict(zip(self.symbol.list_arguments(),
                          self.symbol.infer_shape(data=self.shape)[0], strict=True))
        shapes.update(zip(self.symbol.list_auxiliary_states(),
                          self.symbol.infer_shape(data=self.shape)[2], strict=True))
        rng = np.random.default_rng(3)
        states = self.symbol.list_auxiliary_states()
        self.params = []
        for name_ in self.names[1:]:
            low = 0.5 if name_.endswith(("var", "gamma")) else -0.5
            array = mx.nd.array(rng.uniform(low, 1.0, shapes[name_]))
            if name_ not in states:
                array.attach_grad(grad_req)
            self.params.append(array)
        self.trained = [x for x in self.params if x.grad is not None]
        self.states = [x for x in self.params if x.grad is None]
        self.flags = [("data_indices", [0]), ("param_indices", list(range(1, len(self.names))))]

    def data(self, number: int, batch: int | None = None) -> Any:
        shape = self.shape if batch is None else (batch, *self.shape[1:])
        return mx.nd.array(np.random.default_rng(number).uniform(-1, 1, shape))

    def cached(self) -> Any:
        return mx.nd.CachedOp(self.symbol, self.flags)

    def eager(self, *inputs: Any) -> Any:
        """The outputs, operator by operator."""
        made = run_eagerly(self.symbol, inputs)
        return made[0] if len(made) == 1 else made


def run_eagerly(symbol: Any, inputs: Sequence[Any]) -> list[Any]:
    given = dict(zip(symbol.list_inputs(), inputs, strict=True))
    values: dict[Entry, Any] = {}
    for node in topological(symbol.entries):
        if node.op is None:
            values[Entry(node, 0)] = given[node.name]
            continue
        assert node.params is not None
        made = invoke_params(node.op, node.params, [values[e] for e in node.inputs])
        values.update(zip(node.outputs, made if isinstance(made, list) else [made], strict=False))
    return [values[entry] for entry in symbol.entries]


def total(outputs: Any) -> Any:
    """One number out of outputs, with another gradient for each element."""
    if not isinstance(outputs, list):
        outputs = [outputs]
    return sum((y * y + y).mean() for y in outputs)


def close(got: Any, want: Any, what: str = "") -> None:
    got, want = (x if isinstance(x, np.ndarray) else x.asnumpy() for x in (got, want))
    scale = max(1e-3, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * scale, err_msg=what)


def gradients(net: Net) -> list[Any]:
    return [w.grad.asnumpy() for w in net.trained]
