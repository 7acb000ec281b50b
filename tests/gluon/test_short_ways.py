"""Steps of hybridized blocks take short ways where they can, with the numbers of the long ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn
from ndarray_rt.imperative import backward
from ndarray_rt.optimizer import updater

Step = Callable[[Any, Any, Any, Any, int], None]


class Tied(gluon.HybridBlock):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.first = nn.Dense(6, in_units=6, activation="tanh")
            self.second = nn.Dense(6, in_units=6, params=self.first.params)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return self.second(self.first(x))


def layers() -> Any:
    net = nn.HybridSequential()
    net.add(nn.Dense(6, in_units=6, activation="relu"), nn.BatchNorm(in_channels=6),
            nn.Dense(6, in_units=6))
    return net


def one_loss(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        made = loss(net(x), y)
    made.backward()


def two_losses(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        out = net(x)
        first, second = loss(out, y), loss(out * 2, y)
    autograd.backward([first, second])


def called_twice(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        made = loss(net(net(x)), y)
    made.backward()


def between_operators(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        made = (loss(net(x * 3).tanh(), y) * 0.5).mean()
    made.backward()


def with_a_head(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        made = loss(net(x), y)
    made.backward(mx.nd.arange(1, 5) * (i + 1))


def input_gradient(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    x.attach_grad("add" if i % 2 else "write")
    one_loss(net, loss, x, y, i)
    net.collect_params()
    y += x.grad.sum() * 1e-3


def without_gradient(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        out = net(x)
        made = loss(out, y) + out.detach().sum()
    made.backward()


def other_batches(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    rows = 4 - i % 3
    one_loss(net, loss, x[:rows], y[:rows], i)


STEPS: list[Step] = [one_loss, two_losses, called_twice, between_operators, with_a_head,
                     input_gradient, without_gradient, other_batches]


def train(make: Callable[[], Any], step: Step, change: str, optimizer: str) -> list[Any]:
    """Weights, gradients and states after some steps."""
    mx.random.seed(3)
    net = make()
    net.initialize(mx.init.Xavier(), force_reinit=True)
    net.hybridize()
    loss = gluon.loss.L2Loss()
    loss.hybridize()
    params = net.collect_params()
    if change == "add":
        params.setattr("grad_req", "add")
    if change == "frozen":
        next(iter(params.values())).grad_req = "null"
    trainer = gluon.Trainer(params, optimizer, {"learning_rate": 0.05, "wd": 0.01})
    for i in range(7):
        rng = np.random.default_rng(i)
        x, y = (mx.nd.array(rng.standard_normal((4, 6), np.float32)) for _ in range(2))
        if change == "add":
            for param in params.values():
                if param.grad_req == "add":
                    param.zero_grad()
        if change == "lr" and i % 2:
            trainer.set_learning_rate(0.05 / (i + 1))
        if change == "multiplier" and i == 3:
            next(iter(params.values())).lr_mult = 0.5
        if change == "clip" and i == 4:
            trainer._optimizer.clip_gradient = 0.01
        if change == "data" and i == 3:
            next(iter(params.values())).set_data(mx.nd.ones((6, 6)) * 0.1)
        if change == "req" and i == 3:
            next(iter(params.values())).grad_req = "null"
        if change == "twice":
            step(net, loss, x, y, i)
        step(net, loss, x, y, i)
        trainer.step(4, ignore_stale_grad=True)
    found = [param.data().asnumpy() for param in params.values()]
    return found + [param.grad().asnumpy() for param in params.values()
                    if param.grad_req != "null"]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("change", ["", "add", "frozen", "lr", "multiplier", "clip", "data", "req",
                                    "twice"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("make", [layers, Tied])
def test_short_ways_give_the_bits_of_the_long(
        make: Callable[[], Any], step: Step, change: str, optimizer: str,
        monkeypatch: pytest.MonkeyPatch) -> None:
    short = train(make, step, change, optimizer)
    monkeypatch.setattr(backward, "plan_calls", lambda *_: None)
    monkeypatch.setattr(updater._Settled, "is_of", lambda *_: False)
    monkeypatch.setattr(gluon.Trainer, "_is_like", lambda *_: False)
    for got, expected in zip(short, train(make, step, change, optimizer), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_the_short_ways_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    calls, settled = backward.run_calls, updater.Updater._step_settled

    def run_calls(*args: Any) -> None:
        taken.append("calls")
        calls(*args)

    def step_settled(self: updater.Updater, *args: Any) -> None:
        taken.append("settled")
        settled(self, *args)

    monkeypatch.setattr(backward, "run_calls", run_calls)
    monkeypatch.setattr(updater.Updater, "_step_settled", step_settled)
    train(layers, one_loss, "lr", "adam")
    assert taken.count("calls") == 7
    assert taken.count("settled") >= 5
