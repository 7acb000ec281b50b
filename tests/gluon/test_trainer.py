"""Trainer: steps, stale gradients, files of states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn


def parameter(value: float = 1.0, name: str = "x", ctx: object = None) -> gluon.Parameter:
    made = gluon.Parameter(name, shape=(3,))
    made.initialize(init=mx.init.Constant(value), ctx=ctx)
    return made


def gradient(*params: gluon.Parameter) -> None:
    with autograd.record():
        loss: Any = sum((p.data() * 2).sum() for p in params)
    loss.backward()


def test_step() -> None:
    p = parameter()
    trainer = gluon.Trainer([p], "sgd", {"learning_rate": 0.5, "wd": 0.0})
    gradient(p)
    trainer.step(2)
    assert p.data().asnumpy().tolist() == [0.5] * 3
    assert trainer.learning_rate == 0.5
    trainer.set_learning_rate(0.25)
    gradient(p)
    trainer.step(1)
    assert p.data().asnumpy().tolist() == [0.0] * 3
    assert trainer.optimizer.learning_rate == 0.25


def test_lr_mult_and_wd_mult() -> None:
    p, q = parameter(name="p"), parameter(name="q")
    p.lr_mult, q.wd_mult = 0.5, 0.0
    trainer = gluon.Trainer({"p": p, "q": q}, "sgd", {"learning_rate": 1.0, "wd": 1.0})
    gradient(p, q)
    trainer.step(1)
    assert p.data().asnumpy().tolist() == [1 - 0.5 * (2 + 1)] * 3
    assert q.data().asnumpy().tolist() == [1 - 2] * 3


def test_stale_gradients() -> None:
    p, q = parameter(name="p"), parameter(name="q")
    trainer = gluon.Trainer([p, q], "sgd", {"learning_rate": 1.0})
    gradient(p)
    with pytest.raises(UserWarning, match="`q` on context cpu"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    assert q.data().asnumpy().tolist() == [1] * 3
    assert (p.data().asnumpy() < 1).all()
    q.grad_req = "null"
    gradient(p)
    trainer.step(1)


def test_a_network_learns_in_recorded_calls() -> None:
    mx.random.seed(3)
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(16, activation="relu"), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    rng = np.random.RandomState(0)
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    data, label = mx.nd.array(x), mx.nd.array(x[:, 0] * x[:, 1] > 0)
    losses = []
    for _ in range(60):
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(64)
        losses.append(loss.mean().asscalar())
    assert losses[-1] < 0.2 < 0.6 < losses[0]
    assert net._cached_op is not None
    captured = {"forward, training": "captured", "backward, training": "captured"}
    assert net._cached_op.capture_states == [captured]


@pytest.mark.parametrize("store", ["local", "device"])
@pytest.mark.parametrize("in_store", [True, False, None])
def test_several_contexts(store: str, in_store: bool | None, tmp_path: Path) -> None:
    contexts = [mx.cpu(0), mx.cpu(1)]
    p = parameter(ctx=contexts)
    trainer = gluon.Trainer([p], "sgd", {"learning_rate": 0.5, "momentum": 0.5}, kvstore=store,
                            update_on_kvstore=in_store)
    for expected in (-1.0, -4.0):  # the gradient is 2 on each context
        with autograd.record():
            losses = [(p.data(ctx) * 2).sum() for ctx in contexts]
        autograd.backward(losses)
        trainer.step(1)
        assert [x.asnumpy().tolist() for x in p.list_data()] == [[expected] * 3] * 2
    assert trainer._update_on_kvstore is (in_store is not False)
    trainer.save_states(str(tmp_path / "states"))
    trainer.load_states(str(tmp_path / "states"))
    if in_store is not False:
        with pytest.raises(AssertionError, match="update_on_kvstore"):
            trainer.allreduce_grads()
        with pytest.raises(AssertionError, match="update_on_kvstore"):
            trainer.update(1)
        return
    with autograd.record():
        losses = [(p.data(ctx) * (1 + i)).sum() for i, ctx in enumerate(contexts)]
    autograd.backward(losses)
    trainer.allreduce_grads()
    assert [g.asnumpy().tolist() for g in p.list_grad()] == [[3] * 3] * 2
    trainer.update(1)


def test_a_value_that_is_set_reaches_the_store() -> None:
    contexts = [mx.cpu(0), mx.cpu(1)]
    p = parameter(ctx=contexts)
    trainer = gluon.Trainer([p], "sgd", {"learning_rate": 1.0}, update_on_kvstore=True)
    for start in (None, 10.0):
        if start is not None:
            p.set_data(mx.nd.ones((3,)) * start)
        with autograd.record():
            losses = [p.data(ctx).sum() for ctx in contexts]
        autograd.backward(losses)
        trainer.step(1)
    assert p.data(contexts[0]).asnumpy().tolist() == [8.0] * 3


def test_states(tmp_path: Path) -> None:
    path = str(tmp_path / "states")
    whole, p = parameter(name="whole"), parameter(name="p")
    trainers = [gluon.Trainer([x], "sgd", {"learning_rate": 0.1, "momentum": 0.9})
                for x in (whole, p)]
    for x, trainer in zip((whole, p), trainers, strict=True):
        gradient(x)
        trainer.step(1)
    trainers[1].save_states(path)
    resumed = gluon.Trainer([p], "sgd", {"learning_rate": 7.0})
    resumed.load_states(path)
    assert resumed.learning_rate == 0.1
    for x, trainer in ((whole, trainers[0]), (p, resumed)):
        gradient(x)
        trainer.step(1)
    assert (whole.data().asnumpy() == p.data().asnumpy()).all()
    with pytest.raises(mx.MXNetError, match="No such file"):
        resumed.load_states(str(tmp_path / "none"))


def test_what_is_refused() -> None:
    p = parameter()
    with pytest.raises(ValueError, match="list or dict of Parameters"):
        gluon.Trainer(3, "sgd")
    with pytest.raises(ValueError, match="got list of"):
        gluon.Trainer([3], "sgd")
    with pytest.raises(AssertionError, match="same set of contexts"):
        gluon.Trainer([p, parameter(name="y", ctx=mx.cpu(1))], "sgd")
    with pytest.raises(AssertionError, match="optimizer_params"):
        gluon.Trainer([p], mx.optimizer.create("sgd"), {"wd": 1.0})
    trainer = gluon.Trainer([p], "sgd", kvstore=3)
    gradient(p)
    with pytest.raises(TypeError, match="kvstore must be"):
        trainer.step(1)
    assert gluon.Trainer([p], mx.optimizer.create("adam")).optimizer.param_dict == {0: p}
