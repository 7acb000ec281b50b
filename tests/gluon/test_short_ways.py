"""Steps of hybridized blocks take short ways where they can, with the numbers of the long ones."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.errors import MXNetError
from ndarray_rt.executor.training import trainer as training
from ndarray_rt.gluon import nn
from ndarray_rt.gluon.trainer import Trainer
from ndarray_rt.imperative import backward, backward_of_calls, cached_op
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


def drops() -> Any:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=6, activation="relu"), nn.Dropout(0.5), nn.Dense(6, in_units=8))
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


def inside_record(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        loss(net(x), y).backward()


def retained(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        made = loss(net(x), y)
    made.backward(retain_graph=bool(i % 2))
    if i % 2:
        made.backward()


def predicted(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record(train_mode=i % 3 != 1):
        made = loss(net(x), y)
    made.backward(train_mode=i % 3 != 1)


def two_at_once(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        first, second = loss(net(x), y), loss(net(x + 1), y)
    second.backward()
    if i % 2:
        first.backward()


def given_up(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        net(x)
        loss(net(x), y)
    one_loss(net, loss, x, y, i)


def exported(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    """Gradients are those of the values that the calls had, whoever writes through an export."""
    with autograd.record():
        made = loss(net(x), y)
    if i == 4:
        weight = next(iter(net.collect_params().values())).data()
        view = np.array(weight, copy=False)
        view *= 0.5
        del view
    made.backward()


def from_the_output(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        out = net(x)
        made = loss(out, y)
    (out if i % 3 == 2 else made).backward()


def with_another_block(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    with autograd.record():
        out = net(x)
        made = loss(out * 1, y) if i % 3 == 2 else loss(out, y)
    made.backward()


def with_graph(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    one_loss(net, loss, x, y, i)
    if i % 3 == 2:
        param = next(iter(net.collect_params().values()))
        with autograd.record():
            made = loss(net(x), y)
        if param.grad_req != "null":
            y += autograd.grad(made, param.data())[0].sum() * 1e-3


def labels_with_gradients(net: Any, loss: Any, x: Any, y: Any, i: int) -> None:
    if i == 4:
        y.attach_grad()
    one_loss(net, loss, x, y, i)


STEPS: list[Step] = [one_loss, two_losses, called_twice, between_operators, with_a_head,
                     input_gradient, without_gradient, other_batches, inside_record, retained,
                     predicted, two_at_once, given_up, exported, from_the_output,
                     with_another_block, with_graph, labels_with_gradients]


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
            weight = next(iter(params.values()))
            weight.set_data(mx.nd.ones(weight.shape) * 0.1)
        if change == "req" and i == 3:
            next(iter(params.values())).grad_req = "null"
        if change == "new array" and i == 3:
            params.reset_ctx(mx.cpu())
        if change == "switch" and i in (3, 5):
            mx.config.set("NDRT_CAPTURE", i == 5)
        if change == "hook" and i in (3, 5):
            net._callback = (lambda *_: None) if i == 3 else None
            net._cached_op = None
        if change == "twice":
            step(net, loss, x, y, i)
        step(net, loss, x, y, i)
        trainer.step(4, ignore_stale_grad=True)
    mx.config.reset()
    found = [param.data().asnumpy() for param in params.values()]
    return found + [param.grad().asnumpy() for param in params.values()
                    if param.grad_req != "null"]


@pytest.mark.parametrize(("change", "optimizer"), [
    ("", "sgd"), ("", "adam"), ("add", "sgd"), ("frozen", "adam"), ("lr", "sgd"), ("lr", "adam"),
    ("multiplier", "sgd"), ("clip", "adam"), ("data", "sgd"), ("req", "adam"), ("twice", "sgd"),
    ("new array", "adam"), ("switch", "sgd"), ("hook", "adam")])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("make", [layers, Tied, drops])
def test_short_ways_give_the_bits_of_the_long(
        make: Callable[[], Any], step: Step, change: str, optimizer: str,
        monkeypatch: pytest.MonkeyPatch) -> None:
    short = train(make, step, change, optimizer)
    monkeypatch.setattr(cached_op, "settle", lambda *_: None)
    monkeypatch.setattr(training.Trainer, "replay_forward", lambda *_: False)
    monkeypatch.setattr(backward, "plan_calls", lambda *_: None)
    monkeypatch.setattr(updater._Settled, "is_of", lambda *_: False)
    monkeypatch.setattr(gluon.Trainer, "_is_like", lambda *_: False)
    for got, expected in zip(short, train(make, step, change, optimizer), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_the_short_ways_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    settled, like = updater.Updater._step_settled, Trainer._is_like

    def run_calls(*args: Any) -> None:
        taken.append("calls")
        backward_of_calls.run_calls(*args)

    def step_settled(self: updater.Updater, *args: Any) -> None:
        taken.append("settled")
        settled(self, *args)

    def run_route(head: Any) -> bool:
        done = backward_of_calls.run_route(head)
        taken.append("route" if done else "no route")
        return done

    def is_like(self: Any, found: Any) -> bool:
        same = like(self, found)
        taken.append("like" if same else "other")
        return same

    monkeypatch.setattr(backward, "run_calls", run_calls)
    monkeypatch.setattr(backward, "run_route", run_route)
    monkeypatch.setattr(Trainer, "_is_like", is_like)
    monkeypatch.setattr(updater.Updater, "_step_settled", step_settled)
    train(layers, one_loss, "lr", "adam")
    # the first one settles all, the second is recorded
    assert taken.count("route") == 5
    assert taken.count("calls") == 2
    assert taken.count("settled") >= 5
    assert taken.count("like") >= 5


def settled_net() -> tuple[Any, Any, Any, Any]:
    """A network and its loss that have trained for some steps, and their data."""
    mx.random.seed(0)
    net, loss = layers(), gluon.loss.L2Loss()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss.hybridize()
    rng = np.random.default_rng(0)
    x, y = (mx.nd.array(rng.standard_normal((4, 6), np.float32)) for _ in range(2))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    for i in range(6):
        one_loss(net, loss, x, y, i)
        trainer.step(4)
    return net, loss, x, y


def test_a_parameter_that_is_written_to_before_backward_is_an_error() -> None:
    net, loss, x, y = settled_net()
    with autograd.record():
        made = loss(net(x), y)
    net[2].weight.data()[:] = 1
    with pytest.raises(MXNetError, match="written to after it was recorded"):
        made.backward()
    one_loss(net, loss, x, y, 0)


def test_a_graph_is_gone_behind_its_backward() -> None:
    net, loss, x, y = settled_net()
    with autograd.record():
        made = loss(net(x), y)
    made.backward()
    with pytest.raises(MXNetError):
        made.backward()


def test_gradients_that_are_not_fresh_are_an_error() -> None:
    net, loss, x, y = settled_net()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    for _ in range(3):
        one_loss(net, loss, x, y, 0)
        trainer.step(4)
    with pytest.raises(UserWarning, match="has not been updated by backward"):
        trainer.step(4)
    before = net[0].weight.data().asnumpy()
    trainer.step(4, ignore_stale_grad=True)
    np.testing.assert_array_equal(net[0].weight.data().asnumpy(), before)


def test_settled_calls_are_part_of_the_graph() -> None:
    net, loss, x, y = settled_net()
    with autograd.record():
        out = net(x)
        made = loss(out, y)
    assert len(autograd.get_symbol(made).list_inputs()) == 10
    np.testing.assert_allclose(
        autograd.grad(made, net[2].bias.data(), retain_graph=True)[0].asnumpy(),
        ((out - y) / 6).sum(axis=0).asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_loss_keeps_no_network_alive() -> None:
    net, loss, _, _ = settled_net()
    kept = ref(net[0].weight.data())
    op = ref(net._cached_op)
    del net
    gc.collect()
    assert kept() is None
    assert op() is None
    assert loss._cached_op is not None
