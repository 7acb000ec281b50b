"""Instances of a CachedOp: what they are bound for, when they are recorded, used again, dropped."""

from __future__ import annotations

import gc
import threading
from typing import Any

import ndarray_rt as mx
from ndarray_rt import autograd

from .cached_helpers import Net, close, gradients, total


def states_of(op: Any) -> list[str]:
    return [reason for states in op.capture_states for reason in states.values()]


def test_write_to_a_packed_weight() -> None:
    """Packed copies are made again; the recording stays."""
    net = Net("convolutional")
    op = net.cached()
    for i in range(8):
        x = net.data(i)
        close(op(x, *net.params), net.eager(x, *net.params))
        if i >= 3:
            assert states_of(op) == ["captured"]
        for w in net.params:
            w[:] = w * 0.9


def test_training_and_inference_in_turn() -> None:
    """Each has instances of its own, which stay as they were recorded."""
    net = Net("convolutional")
    op = net.cached()
    recorded: list[Any] = []
    for i in range(8):
        x = net.data(i)
        with autograd.record():
            loss = total(op(x, *net.params))
        loss.backward()
        del loss
        for w in net.trained:
            w[:] = w - 0.01 * w.grad
        close(op(x, *net.params), net.eager(x, *net.params))
        close(op(net.data(i, 1), *net.params), net.eager(net.data(i, 1), *net.params))
        programs = [p for group in op._groups for instance in group.idle
                    for p in instance.executor._runs.programs()]
        captured = [c.captured for p in programs for c in p._captures.values()]
        if i == 4:
            recorded = captured
            assert len(recorded) == 4
            assert None not in recorded
        if i > 4:
            assert all(a is b for a, b in zip(captured, recorded, strict=True))


def test_tape_that_is_dropped_gives_back() -> None:
    net = Net("mlp")
    op = net.cached()
    for _ in range(3):
        with autograd.record():
            y = op(net.data(0), *net.params)
        (group,) = op._groups
        assert len(group.idle) == 0
        del y
        gc.collect()
        assert len(group.idle) == 1


def test_pool_is_bounded() -> None:
    net = Net("mlp")
    op = net.cached()
    for batch in range(1, 40):
        x = net.data(batch, batch)
        close(op(x, *net.params), net.eager(x, *net.params))
    assert len(op._groups) == 16
    used = {group.bound[0].shape[0] for group in op._groups}
    assert used == set(range(24, 40))


def test_parameters_that_are_replaced() -> None:
    """Old arrays are not held when nobody else has them; other nets may alternate."""
    net, other = Net("mlp"), Net("mlp")
    op, x = net.cached(), net.data(0)
    for params in (net.params, other.params, net.params, other.params):
        close(op(x, *params), net.eager(x, *params))
    assert len(op._groups) == 2
    other.params = []
    params = []
    other.trained = []
    del params
    gc.collect()
    replaced = [w.copy() for w in net.params]
    close(op(x, *replaced), net.eager(x, *replaced))
    assert len(op._groups) == 2


def test_without_flags() -> None:
    """What changes from call to call is copied in from then on."""
    net = Net("mlp")
    op = mx.nd.CachedOp(net.symbol)
    for i in range(6):
        x = net.data(i, 1 + i % 2)
        close(op(x, *net.params), net.eager(x, *net.params))
    assert op._by_value == {0}
    assert len(op._groups) == 2
    assert states_of(op) == ["captured"] * 2


def test_threads() -> None:
    """Inference in four threads and training in another, over the same parameters."""
    net = Net("mlp")
    op = net.cached()
    x = net.data(0)
    want = [net.eager(net.data(i), *net.params).asnumpy() for i in range(4)]
    with autograd.record():
        loss = total(net.eager(x, *net.params))
    gradient = autograd.grad([loss], [net.trained[0]])[0].asnumpy()
    errors: list[BaseException] = []

    def work(step: Any, *args: Any) -> None:
        try:
            for _ in range(20):
                step(*args)
        except BaseException as error:
            errors.append(error)

    def infer(number: int) -> None:
        close(op(net.data(number), *net.params), want[number])

    def train() -> None:
        with autograd.record():
            loss = total(op(x, *net.params))
        (got,) = autograd.grad([loss], [net.trained[0]])
        close(got, gradient)

    threads = [threading.Thread(target=work, args=(infer, i)) for i in range(4)]
    threads += [threading.Thread(target=work, args=(train,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_weights_that_inference_packed_before_they_were_trained() -> None:
    """Training finds them in the default layout, and inference leaves them there from then on."""
    net, other = Net("convolutional"), Net("convolutional")
    op, x = net.cached(), net.data(0)
    params = [w.detach() for w in net.params]
    for _ in range(3):
        op(x, *params)
    assert any(w.is_special for w in params)
    for i in range(3):
        for n, call in ((net, op), (other, other.eager)):
            with autograd.record():
                loss = total(call(x, *n.params))
            loss.backward()
        for a, b in zip(gradients(net), gradients(other), strict=True):
            close(a, b)
        assert not any(w.is_special for w in params)
        close(op(net.data(i), *net.params), other.eager(net.data(i), *other.params))
        close(op(net.data(i), *params), other.eager(net.data(i), *other.params))
    assert len(op._groups) == 2
