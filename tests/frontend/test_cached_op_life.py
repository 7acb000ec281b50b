"""CachedOp over many calls: what one call leaves is not touched by others, until its backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd
from ndarray_rt.errors import MXNetError

from .cached_helpers import Net, close, gradients, total


def both(name: str, run: Any, **kwargs: Any) -> None:
    """`run(net, call)` gives the same with a CachedOp as with the operators one by one."""
    net, other = Net(name, **kwargs), Net(name, **kwargs)
    op = net.cached()
    for i in range(4):
        mx.random.seed(i)
        got = run(net, op)
        mx.random.seed(i)
        for a, b in zip(got, run(other, other.eager), strict=True):
            close(a, b, f"repetition {i}")


def test_outputs_are_kept() -> None:
    net = Net("mlp")
    op = net.cached()
    kept = [(op(net.data(i), *net.params), net.data(i)) for i in range(5)]
    with autograd.record():
        kept += [(op(net.data(i), *net.params), net.data(i)) for i in range(5, 8)]
    for y, x in kept:
        close(y, net.eager(x, *net.params))


def test_two_forwards_before_one_backward() -> None:
    def run(net: Net, call: Any) -> list[Any]:
        with autograd.record():
            a = total(call(net.data(0), *net.params))
            b = total(call(net.data(1), *net.params))
        b.backward()
        found = gradients(net)
        a.backward()
        return [*found, *gradients(net), *[s.asnumpy() for s in net.states]]
    both("convolutional", run)


def test_block_called_five_times() -> None:
    """Each call has activations of its own; the gradient is the sum."""
    x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    symbol = mx.sym.tanh(mx.sym.FullyConnected(x, w, no_bias=True, num_hidden=6))
    op = mx.nd.CachedOp(symbol, [("data_indices", [0]), ("param_indices", [1])])
    weight = mx.nd.array(np.random.default_rng(0).uniform(-1, 1, (6, 6)))
    start = mx.nd.array(np.random.default_rng(1).uniform(-1, 1, (2, 6)))
    weight.attach_grad()
    found = []
    for _ in range(4):
        h = start
        with autograd.record():
            for _ in range(5):
                h = op(h, weight)
            loss = total(h)
        loss.backward()
        found.append(weight.grad.asnumpy())
    h = start
    with autograd.record():
        for _ in range(5):
            h = mx.nd.tanh(mx.nd.FullyConnected(h, weight, no_bias=True, num_hidden=6))
        loss = total(h)
    loss.backward()
    for got in found:
        close(got, weight.grad)
    # the sum is the tape's work: gradients have arrays of the instances' own by now
    gradient_groups = [g for g in op._groups if g.is_kept]
    assert not any(g.targets for g in gradient_groups)
    assert 5 <= sum(len(g.idle) for g in gradient_groups) <= 6


def test_dropout() -> None:
    """The same bits as the operators one by one, for one seed; other bits at the next call."""
    net = Net("dropping")
    op, x = net.cached(), net.data(0)
    for i in range(4):
        values = []
        for call in (op, net.eager):
            mx.random.seed(i)
            with autograd.record():
                first, second = call(x, *net.params), call(x, *net.params)
                loss = total(first) + total(second)
            loss.backward()
            values.append([first.asnumpy() == 0, second.asnumpy() == 0])
            state = mx.random.get_state()
            values[-1].append(np.array(state))
        assert all((a == b).all() for a, b in zip(*values, strict=True))
        assert (values[0][0] != values[0][1]).any()


@pytest.mark.parametrize("name", ["mlp", "convolutional", "residual", "dropping"])
def test_backward_twice(name: str) -> None:
    """The same gradient, with the random numbers of the one forward; states move once for each."""
    def run(net: Net, call: Any) -> list[Any]:
        with autograd.record():
            loss = total(call(net.data(0), *net.params))
            mx.nd.random.uniform(shape=(3,))
        loss.backward(retain_graph=True)
        first = gradients(net)
        loss.backward(retain_graph=True)
        loss.backward()
        for a, b in zip(first, gradients(net), strict=True):
            close(a, b)
        with pytest.raises(MXNetError, match="pass retain_graph=True"):
            loss.backward()
        return [*first, *[s.asnumpy() for s in net.states], np.array(mx.random.get_state())]
    both(name, run)


def test_gradients_of_some_inputs() -> None:
    """autograd.grad leaves the arrays of attach_grad alone."""
    net = Net("mlp")
    op, x = net.cached(), net.data(0)
    with autograd.record():
        loss = total(op(x, *net.params))
    loss.backward()
    want = gradients(net)
    for _ in range(3):
        for w in net.trained:
            w.grad[:] = 7
        with autograd.record():
            loss = total(op(x, *net.params))
        (got,) = autograd.grad([loss], [net.trained[0]])
        close(got, want[0])
        assert all((g == 7).all() for g in gradients(net))
        with autograd.record():
            loss = total(op(x, *net.params))
        loss.backward()
        for a, b in zip(gradients(net), want, strict=True):
            close(a, b)


def test_attach_grad_anew() -> None:
    net = Net("mlp")
    op, x = net.cached(), net.data(0)
    found = []
    for i in range(5):
        for w in net.trained:
            w.attach_grad("add" if i == 3 else "write")
        with autograd.record():
            loss = total(op(x, *net.params))
        loss.backward()
        found.append(gradients(net))
    for got in found[1:]:
        for a, b in zip(got, found[0], strict=True):
            close(a, b)
    assert len(op._groups) == 1


def test_frozen_parameter() -> None:
    net = Net("mlp")
    op, x = net.cached(), net.data(0)
    net.trained[0].attach_grad("null")
    for call in (op, op, op, net.eager):
        with autograd.record():
            loss = total(call(x, *net.params))
        loss.backward()
        if call is op:
            found = gradients(net)[1:]
    for a, b in zip(found, gradients(net)[1:], strict=True):
        close(a, b)


@pytest.mark.parametrize("position", range(4))
def test_write_between_forward_and_backward(position: int) -> None:
    """What the gradient reads must not be written to (but data, a copy); biases may."""
    net = Net("mlp")
    op = net.cached()
    for _ in range(3):
        x = net.data(0)
        with autograd.record():
            loss = total(op(x, *net.params))
        x[:] = 0
        net.params[position][:] = net.params[position] * 2
        if position in (0, 2):
            with pytest.raises(MXNetError, match="was written to after it was recorded"):
                loss.backward()
        else:
            loss.backward()
            found = gradients(net)
            net.params[position][:] = net.params[position] / 2
            x = net.data(0)
            with autograd.record():
                loss = total(net.eager(x, *net.params))
            loss.backward()
            for a, b in zip(found, gradients(net), strict=True):
                close(a, b)


def test_export_between_forward_and_backward() -> None:
    """Writes through an export are not seen: the gradient is that of what was recorded."""
    net = Net("mlp")
    op, x = net.cached(), net.data(0)
    for _ in range(4):
        with autograd.record():
            loss = total(net.eager(x, *net.params))
        loss.backward()
        want = gradients(net)
        with autograd.record():
            loss = total(op(x, *net.params))
        view = net.params[2].__array__(copy=False)
        view[:] *= 2
        loss.backward()
        for a, b in zip(gradients(net), want, strict=True):
            close(a, b)
        del view


def test_state_written_between_two_backwards() -> None:
    """Forward is to be computed anew then, and read a state of an aux that is gone."""
    net = Net("convolutional")
    op, x = net.cached(), net.data(0)
    for again in range(2):
        with autograd.record(train_mode=False):
            loss = total(op(x, *net.params))
        loss.backward(retain_graph=True, train_mode=False)
        first = gradients(net)
        if not again:
            loss.backward(train_mode=False)
            for a, b in zip(first, gradients(net), strict=True):
                close(a, b)
            continue
        net.states[0][:] = 0.25
        with pytest.raises(MXNetError, match="aux state 'bn0_moving_mean' was written to since"):
            loss.backward(train_mode=False)


def test_second_derivative() -> None:
    x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    op = mx.nd.CachedOp(x * w * x * x)
    a, b = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, 3.0])
    a.attach_grad()
    b.attach_grad()
    for _ in range(2):
        with autograd.record():
            (first,) = autograd.grad([op(a, b)], [a], create_graph=True)
            loss = first * first
        loss.backward()
        # first = 3 w x^2
        close(a.grad, 36 * b.asnumpy() ** 2 * a.asnumpy() ** 3)
        close(b.grad, 18 * b.asnumpy() * a.asnumpy() ** 4)


def test_one_array_at_two_places() -> None:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    op = mx.nd.CachedOp(x * y + y)
    a = mx.nd.array([1.0, 2.0])
    a.attach_grad()
    for _ in range(3):
        with autograd.record():
            loss = op(a, a)
        loss.backward(retain_graph=True)
        assert a.grad.asnumpy().tolist() == [3, 5]
        (got,) = autograd.grad([loss], [a])
        assert got.asnumpy().tolist() == [3, 5]
