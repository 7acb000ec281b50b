"""What `make quick` asks of everything: each operator once, some graphs, a step of training.

One case of each operator, forward and backward, on NumPy and natively, written and added to.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.operator import run_quick
from ndarray_rt.testing.random_graphs import random_graph
from ndarray_rt.testing.runtimes import RUNTIMES

from .case_table import all_cases
from .properties.test_graphs import lived

GRAPHS = 20


def firsts() -> dict[str, Case]:
    """The first case of each operator that has one on some runtime."""
    found: dict[str, Case] = {}
    for case in all_cases():
        if not all(runtime in case.exempt for runtime in RUNTIMES):
            found.setdefault(find(case.op).name, case)
    return found


@pytest.mark.parametrize("case", firsts().values(), ids=firsts())
def test_operator(case: Case) -> None:
    assert run_quick(case).executed >= 2


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_a_random_graph(seed: int) -> None:
    """Runs of all kinds, writes and other bindings, each compared with NumPy node by node."""
    lived(random_graph(seed), random.Random(seed))


def test_a_network_learns() -> None:
    """Layers, a loss, gradients and an optimizer together: the loss falls."""
    data, label = mx.sym.Variable("data"), mx.sym.Variable("label")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=16, name="conv")
    net = mx.sym.Pooling(mx.sym.Activation(net, act_type="relu"), kernel=(2, 2), pool_type="max")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), label)
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(6, 3, 8, 8)), np.arange(6) % 3
    executor = net.simple_bind(mx.cpu(), data=images.shape, label=labels.shape, grad_req={
        name: "null" if name in ("data", "label") else "write" for name in net.list_arguments()})
    for array in executor.arg_dict.values():
        array[:] = rng.normal(0, 0.1, array.shape)
    step = executor.bind_update("sgd_update", lr=0.02)
    losses = []
    for _ in range(30):
        executor.train_step(step, data=mx.nd.array(images), label=mx.nd.array(labels))
        told = executor.outputs[0].asnumpy()[np.arange(6), labels]
        losses.append(float(-np.log(told).mean()))
    assert losses[-1] < losses[0] / 2
