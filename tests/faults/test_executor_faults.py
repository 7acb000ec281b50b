"""A LeNet step in which every allocation fails once, and one that is interrupted everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.testing.faults import Scenario, check_allocations, check_interrupts


def lenet() -> Any:
    """LeNet's layers with few channels."""
    net = mx.sym.Variable("data")
    for i, filters in enumerate((3, 5)):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=filters, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{i}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{i}")
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=6, name="fc0")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh2")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def bound(grad_req: str = "write", net: Any = None) -> Any:
    exe = (net or lenet()).simple_bind(mx.cpu(), grad_req=grad_req, data=(2, 1, 12, 12))
    rng = np.random.default_rng(3)
    for name, array in exe.arg_dict.items():
        array[:] = (rng.integers(0, 4, array.shape) if name.endswith("label")
                    else rng.uniform(-0.5, 0.5, array.shape))
    for array in exe.grad_dict.values():
        if array is not None:
            array[:] = rng.uniform(-1, 1, array.shape)
    for array in exe.aux_dict.values():
        array[:] = rng.uniform(0.5, 1, array.shape)
    return exe


def arrays_of(exe: Any) -> dict[str, Any]:
    found = dict(exe.arg_dict)
    found.update({f"grad of {n}": g for n, g in exe.grad_dict.items() if g is not None})
    found.update({f"aux {n}": a for n, a in exe.aux_dict.items()})
    found.update({f"output {i}": o for i, o in enumerate(exe.outputs)})
    return found


def binding() -> Scenario:
    shapes, _, _ = lenet().infer_shape(data=(2, 1, 12, 12))
    args = {name: mx.nd.ones(shape)
            for name, shape in zip(lenet().list_arguments(), shapes, strict=True)}
    grads = {name: mx.nd.zeros(array.shape) for name, array in args.items()}

    def run() -> None:
        lenet().simple_bind(mx.cpu(), data=(2, 1, 12, 12))
        lenet().bind(mx.cpu(), args, grads)
    return Scenario({**args, **{f"grad {n}": g for n, g in grads.items()}}, run)


def forward(is_train: bool, runs: int) -> Callable[[], Scenario]:
    """A forward after `runs` others: the first, the recorded one, a replay."""
    def make() -> Scenario:
        exe = bound("null" if not is_train else "write")
        exe.outputs[0][:] = 7
        for _ in range(runs):
            exe.forward(is_train=is_train)
        exe.arg_dict["data"][:] *= -1
        return Scenario(arrays_of(exe), lambda: exe.forward(is_train=is_train))
    return make


def backward(grad_req: str) -> Callable[[], Scenario]:
    def make() -> Scenario:
        exe = bound(grad_req)
        exe.forward(is_train=True)

        return Scenario(arrays_of(exe), exe.backward, lambda: exe.forward(is_train=True))
    return make


def step(optimizer: str) -> Callable[[], Scenario]:
    """The updates of two weights, in place."""
    def make() -> Scenario:
        exe = bound()
        exe.forward(is_train=True)
        exe.backward()
        states = {n: [mx.nd.ones(g.shape) * 0.1 for _ in range({"sgd": 0, "sgd_mom": 1,
                                                               "adam": 2}[optimizer])]
                  for n, g in exe.grad_dict.items()}
        update = getattr(mx.nd, f"{optimizer}_update")

        def run() -> None:
            for name in ("conv0_weight", "fc1_bias"):
                weight, grad = exe.arg_dict[name], exe.grad_dict[name]
                update(weight, grad, *states[name], out=weight, lr=0.1)
        arrays = arrays_of(exe)
        arrays.update({f"{n} state {i}": s for n, kept in states.items()
                       for i, s in enumerate(kept)})
        return Scenario(arrays, run)
    return make


def train_step(runs: int) -> Callable[[], Scenario]:
    """A whole step after `runs` others: the first, the recorded one, a replay."""
    def make() -> Scenario:
        exe = bound()
        update = exe.bind_update("sgd_mom_update", lr=0.01, momentum=0.9)
        for _ in range(runs):
            exe.train_step(update)
        arrays = arrays_of(exe)
        arrays.update({f"{n} state": s for n, (s,) in update.states.items()})
        return Scenario(arrays, lambda: exe.train_step(update))
    return make


SCENARIOS = {"bind": binding, "first inference": forward(False, 0),
             "recorded inference": forward(False, 1), "replayed inference": forward(False, 2),
             "training forward": forward(True, 0), "second training forward": forward(True, 1),
             "backward write": backward("write"), "backward add": backward("add"),
             "first step": train_step(0), "recorded step": train_step(1),
             "replayed step": train_step(3), "sgd": step("sgd"),
             "sgd_mom": step("sgd_mom"), "adam": step("adam")}


REPLAYED = ("replayed inference", "replayed step")
UPDATES = ("sgd", "sgd_mom", "adam")


@pytest.mark.sampled(5, "whole runs, once for each allocation")
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_allocation_may_fail(name: str) -> None:
    failed = check_allocations(SCENARIOS[name])
    # a replay takes no memory at all
    assert failed == 0 if name in REPLAYED else failed > 5


@pytest.mark.sampled(5, "whole runs, once for each line")
@pytest.mark.parametrize("name", [n for n in SCENARIOS if n != "bind"])
def test_an_interrupt_may_come_anywhere(name: str) -> None:
    # of a replay, and of a call that repeats one with other numbers, Python sees but a few lines
    short = name in REPLAYED or name in UPDATES
    assert check_interrupts(SCENARIOS[name], step=1 if short else 41) > 1


@pytest.mark.sampled(5, "whole runs, once for each line")
def test_an_interrupt_may_come_anywhere_in_the_first_update() -> None:
    assert check_interrupts(SCENARIOS["sgd"], cold=True, step=41) > 1
