"""forward, backward and updates that are called one after the other are replayed as a step is, with
the bits of runs that look at everything anew."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.executor.runs import Runs
from ndarray_rt.executor.training.trainer import Trainer
from ndarray_rt.executor.training.update import Update
from ndarray_rt.optimizer.updater import _Settled

SHAPE = (4, 3, 8, 8)


def network() -> Any:
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=16, name="conv")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm")
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return mx.sym.FullyConnected(mx.sym.Dropout(net, p=0.25), num_hidden=5, name="dense")


def bound(net: Any, request: str) -> Any:
    exe = net.simple_bind(mx.cpu(), data=SHAPE, grad_req=request)
    rng = np.random.default_rng(0)
    for name, array in exe.arg_dict.items():
        array[:] = rng.standard_normal(array.shape).astype("f4") * 0.3
        exe.grad_dict[name][:] = 0
    return exe


def between(change: str, i: int, exe: Any) -> None:
    """What may come between two steps."""
    if change == "inference" and i % 2:
        exe.forward(is_train=False)
    if change == "weights" and i == 4:
        exe.arg_dict["conv_weight"][:] *= 0.5
    if change == "monitor" and i in (4, 5):
        exe.set_monitor_callback((lambda *_: None) if i == 4 else None)
    if change == "switch" and i in (4, 5):
        mx.config.set("NDRT_CAPTURE", i == 5)
    if change == "threads" and i == 4:
        mx.set_num_threads(1 + mx.get_num_threads() % 2)
    if change == "looked at" and i == 4:
        exe.explain(is_train=True, repeat=1)


def run(change: str, request: str, looks: bool = True) -> list[Any]:
    """Outputs, gradients and aux states of some steps; `looks`: after each, not the last alone.

    Whoever looks at a weight or a gradient may convert it.
    """
    mx.random.seed(7)
    exe = bound(network(), request)
    update = exe.bind_update("sgd_mom_update", lr=0.01, momentum=0.9,
                             names=[name for name in exe.arg_dict if name != "data"])
    threads, seen = mx.get_num_threads(), []
    try:
        for i in range(9):
            rng = np.random.default_rng(i)
            x = mx.nd.array(rng.standard_normal(SHAPE).astype("f4"))
            dy = mx.nd.array(rng.standard_normal((4, 5)).astype("f4"))
            between(change, i, exe)
            if change == "whole steps" and i % 3 == 2:
                exe.train_step(update, out_grads=dy, data=x)
            else:
                exe.forward(is_train=True, data=x)
                if change == "forwards" and i % 2:
                    exe.forward(is_train=True)
                if change == "only forward" and i % 3 == 1:
                    continue
                exe.backward([dy], is_train=not (change == "modes" and i == 5))
                if i % 2:
                    update(lr=0.01 / (1 + i // 4))
            if not looks and i < 8:
                continue
            seen += [array.asnumpy() for array in (
                *exe.outputs, *exe.grad_dict.values(), *exe.arg_dict.values(),
                *exe.aux_dict.values())]
    finally:
        mx.set_num_threads(threads)
        mx.config.reset()
    return seen


CHANGES = ["", "inference", "weights", "monitor", "switch", "threads", "looked at", "whole steps",
           "forwards", "only forward", "modes"]


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("request_", ["write", "add"])
@pytest.mark.parametrize("change", CHANGES)
def test_replays_give_the_bits_of_whole_looks(change: str, request_: str, looks: bool,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    short = run(change, request_, looks)
    monkeypatch.setattr(Trainer, "replay_forward", lambda *_: False)
    monkeypatch.setattr(Update, "_replay", lambda *_: False)
    expected = run(change, request_, looks)
    assert len(short) == len(expected)
    for got, value in zip(short, expected, strict=True):
        np.testing.assert_array_equal(got, value)


def test_parts_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed: list[str] = []
    replay, of_update = Runs.replay, Update._replay

    def part(self: Any, *args: Any) -> bool:
        done = replay(self, *args)
        replayed.append("part" if done else "refused")
        return done

    def update(self: Any) -> bool:
        done = of_update(self)
        replayed.append("update" if done else "whole update")
        return done

    monkeypatch.setattr(Runs, "replay", part)
    monkeypatch.setattr(Update, "_replay", update)
    run("", "write", looks=False)
    assert replayed.count("part") >= 10
    assert replayed.count("update") >= 1


def gradients_while(read: bool) -> list[Any]:
    """Gradients after many steps, some of them while another thread reads them."""
    mx.random.seed(5)
    exe = bound(network(), "write")
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            for array in exe.grad_dict.values():
                array.asnumpy()

    reader = threading.Thread(target=look)
    if read:
        reader.start()
    try:
        for _ in range(50):
            exe.forward(is_train=True, data=mx.nd.ones(SHAPE))
            exe.backward([mx.nd.ones((4, 5))])
    finally:
        stop.set()
        if read:
            reader.join()
    return [array.asnumpy() for array in exe.grad_dict.values()]


def test_what_somebody_reads_is_waited_for() -> None:
    for got, expected in zip(gradients_while(True), gradients_while(False), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_second_backward_is_refused_behind_a_replay() -> None:
    exe = bound(network(), "write")
    for _ in range(5):
        exe.forward(is_train=True, data=mx.nd.ones(SHAPE))
        exe.backward([mx.nd.ones((4, 5))])
    assert not exe.plan.backward_repeats
    with pytest.raises(mx.MXNetError, match="a second time"):
        exe.backward([mx.nd.ones((4, 5))])


def fitted(change: str) -> list[Any]:
    """Parameters of a module after some steps."""
    mx.random.seed(1)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(network(), name="softmax"))
    module.bind([("data", SHAPE)], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "wd": 0.01,
                                                             "momentum": 0.9})
    for i in range(8):
        rng = np.random.default_rng(i)
        rows = 2 if change == "shapes" and i == 4 else 4
        batch = mx.io.DataBatch([mx.nd.array(rng.standard_normal((rows, *SHAPE[1:])))],
                                [mx.nd.array(rng.integers(0, 5, rows))])
        if change == "rate":
            module._optimizer.set_learning_rate(0.1 / (i + 1))
        if change == "factors" and i == 4:
            module._optimizer.set_lr_mult({"conv_weight": 0.1})
            module._optimizer.wd_mult["dense_weight"] = 2.0
        if change == "states" and i == 4:
            module._updater.set_states(module._updater.get_states())
        if change == "counts" and i == 4:
            module._optimizer._index_update_count[0] = 40
        module.forward_backward(batch)
        module.update()
    arguments, states = module.get_params()
    return [value.asnumpy() for value in (*arguments.values(), *states.values())]


@pytest.mark.parametrize("change", ["", "shapes", "rate", "factors", "states", "counts"])
def test_steps_of_a_module_give_the_same_bits(change: str,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    short = fitted(change)
    monkeypatch.setattr(Trainer, "replay_forward", lambda *_: False)
    monkeypatch.setattr(Update, "_replay", lambda *_: False)
    monkeypatch.setattr(_Settled, "is_of", lambda *_: False)
    for got, expected in zip(short, fitted(change), strict=True):
        np.testing.assert_array_equal(got, expected)
