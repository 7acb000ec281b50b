"""autograd: what is recorded, where gradients go, what is refused, memory."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx

from .recorded import grads, leaf, recorded

nd, autograd = mx.nd, mx.autograd


def test_a_gradient() -> None:
    x = leaf([1, 2, 3])
    y = recorded(lambda: x * x)
    y.backward()
    assert grads(x) == [2, 4, 6]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize(("function", "slope"), [
    (lambda x: x * x, lambda x: 2 * x),
    (lambda x: x + x, lambda x: 2 + 0 * x),
    (lambda x: x - 2 * x, lambda x: -1 + 0 * x),
    (lambda x: 1 / x, lambda x: -1 / x**2),
    (lambda x: x / (x + 1), lambda x: 1 / (x + 1) ** 2),
    (lambda x: x**3, lambda x: 3 * x**2),
    (lambda x: 2**x, lambda x: np.log(2) * 2**x),
    (lambda x: -x, lambda x: -1 + 0 * x),
    (lambda x: x.exp() * x.log(), lambda x: np.exp(x) * (np.log(x) + 1 / x)),
    (lambda x: nd.Activation(x, "tanh"), lambda x: 1 - np.tanh(x) ** 2),
    (lambda x: x.reshape(-1) * x.reshape(-1), lambda x: 2 * x),
    (lambda x: x[0] * x[1:].sum(axis=0), lambda x: np.stack([x[1] + x[2], x[0], x[0]])),
    (lambda x: x.T * x.T, lambda x: 2 * x),
    (lambda x: x.astype("float64") * 3, lambda x: 3 + 0 * x),
    (lambda x: x.copy() * x.detach(), lambda x: x),
    (lambda x: x * nd.BlockGrad(x), lambda x: x),
    (lambda x: (x > 1) * x, lambda x: (x > 1) * 1.0),
    (lambda x: nd.array(x) * x, lambda x: 2 * x),
    (lambda x: x.as_in_context(mx.cpu(1)) * 2, lambda x: 2 + 0 * x),
    (lambda x: nd.broadcast_mul(x, x[:1]).sum(), lambda x: x[:1] + np.concatenate(
        [x.sum(axis=0, keepdims=True), 0 * x[1:]])),
])
def test_slopes(function: Any, slope: Any, special: bool) -> None:
    data = np.random.default_rng(0).uniform(0.5, 2, (3, 4, 5)).astype(np.float32)
    x = nd.array(data)
    if special:
        x.reorder()
    x.attach_grad()
    y = recorded(function, x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), slope(data), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(x.asnumpy(), data)


def test_requests() -> None:
    write, add, null = leaf([1, 2]), leaf([1, 2], "add"), leaf([1, 2], "null")
    for _ in range(3):
        recorded(lambda: write * 2 + add * 3 + null * 4).backward()
    assert [grads(write), grads(add), grads(null)] == [[2, 2], [9, 9], [0, 0]]
    with pytest.raises(mx.MXNetError, match="write"):
        null.attach_grad("sometimes")


def test_add_when_others_read_the_same_gradient() -> None:
    """d(a + b) is one value for both: neither accumulation may leak into the other."""
    a, b = leaf([1], "add"), leaf([2], "add")
    for _ in range(2):
        recorded(lambda: a + b + a).backward()
    assert (grads(a), grads(b)) == ([4], [2])
    a.grad[:] = 100
    assert grads(b) == [2]


def test_gradients_have_memory_of_their_own() -> None:
    a, b = leaf([1, 2]), leaf([3, 4])
    head = nd.array([5, 6])
    y = recorded(lambda: a + b)
    y.backward(head)
    a.grad[:] = 0
    assert grads(b) == [5, 6]
    assert head.asnumpy().tolist() == [5, 6]


def test_head_gradients() -> None:
    x = leaf([1, 2, 3])
    recorded(lambda: x * x).backward(nd.array([1, 10, 100]))
    assert grads(x) == [2, 40, 600]
    y, z = recorded(lambda: (x * x, x * 2))
    autograd.backward([y, z], [nd.array([1, 0, 0]), None])
    assert grads(x) == [4, 2, 2]
    # the rows behind the head's are not looked at, as in MXNet
    recorded(lambda: x * x).backward(nd.array([1, 10, 100, 1000]))
    assert grads(x) == [2, 40, 600]
    with pytest.raises(ValueError, match=r"head gradient has shape \(2,\)"):
        recorded(lambda: x * x).backward(nd.ones((2,)))
    with pytest.raises(TypeError, match="dtype"):
        recorded(lambda: x * x).backward(nd.ones((3,), dtype="int32"))
    with pytest.raises(mx.MXNetError, match="same length"):
        autograd.backward([recorded(lambda: x * x)], [None, None])


def test_a_second_backward_needs_retain_graph() -> None:
    x = leaf([1, 2])
    y = recorded(lambda: x * x)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        y.backward()
    a = recorded(lambda: x * x)
    y, z = recorded(lambda: (a * 2, a * 3))
    y.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        z.backward()


def test_without_a_tape() -> None:
    x = leaf([1, 2])
    for y in (x * x, nd.ones((2,)), recorded(lambda: nd.ones((2,)) * 2), x.detach()):
        with pytest.raises(mx.MXNetError, match="computational graph"):
            y.backward()
    with autograd.record(), autograd.pause():
        y = x * x
    with pytest.raises(mx.MXNetError, match="computational graph"):
        y.backward()


def test_a_leaf_is_its_own_head() -> None:
    x = leaf([1, 2])
    x.backward()
    assert grads(x) == [1, 1]
    x.backward(nd.array([3, 4]))
    assert grads(x) == [3, 4]


@pytest.mark.parametrize("write", [
    "x += 1", "x[:] = 1", "x[0] = 1", "y += 1", "y[0] = 1", "y *= x", "nd.relu(x, out=y)",
    "nd.ones((3,)).copyto(y)", "c[:] = 5", "x.reshape(3)[:] = 1", "y[1:] += 1"])
def test_no_writing_to_what_is_recorded(write: str) -> None:
    x, c = leaf([1, 2, 3]), nd.ones((3,))
    with autograd.record():
        y = x * c
        with pytest.raises(mx.MXNetError, match="when recording"):
            exec(write, {"x": x, "y": y, "c": c, "nd": nd})
    y.backward()
    assert grads(x) == [1, 1, 1]


def test_writing_to_what_is_not_recorded() -> None:
    x, free = leaf([1, 2, 3]), nd.zeros((3,))
    with autograd.record():
        free[0] = 3
        free += 1
        y = free * x
    y.backward()
    assert grads(x) == [4, 1, 1]
    # the graph is gone: everything can be written to again
    with autograd.record():
        free[:] = 0
        y[:] = 0


def test_a_whole_array_takes_a_recorded_value() -> None:
    x, z = leaf([1, 2, 3]), nd.zeros((2, 3))
    with autograd.record():
        z[:] = x * 2
        y = z * z
    y.backward()
    assert grads(x) == [16, 32, 48]
    target = nd.zeros((3,))
    with autograd.record():
        x.copyto(target)
        y = target * 3
    y.backward()
    assert grads(x) == [3, 3, 3]


@pytest.mark.parametrize("key", [0, slice(0, 2), [0, 1], slice(None, None, 2)])
def test_a_part_does_not_take_a_recorded_value(key: Any) -> None:
    x, z = leaf([1, 2, 3]), nd.zeros((3,))
    with autograd.record(), pytest.raises(mx.MXNetError, match="part of an array"):
        z[key] = x[key]


def test_values_changed_between_record_and_backward_are_found() -> None:
    x, c = leaf([1, 2, 3]), nd.ones((3,))
    y = recorded(lambda: x * c)
    c[:] = 5
    with pytest.raises(mx.MXNetError, match="written to after it was recorded"):
        y.backward()
    y = recorded(lambda: x * x)
    x[0] = 5
    with pytest.raises(mx.MXNetError, match=r"elemwise_mul.*written to after"):
        y.backward()


def test_values_that_no_gradient_reads_may_change() -> None:
    x = leaf([1, 2, 3])
    with autograd.record():
        y = x * 2
        with autograd.pause():
            y += 1
        z = y * y
    z.backward()
    assert grads(x) == [12, 20, 28]
    c = nd.ones((3,))
    z = recorded(lambda: x + c)
    c[:] = 5
    x[:] = 0
    z.backward()
    assert grads(x) == [1, 1, 1]


def test_leaves_that_are_not_reached() -> None:
    x, other = leaf([1, 2]), leaf([3, 4])
    x.grad[:] = 7
    y, _ = recorded(lambda: (other * 2, x * 2))
    y.backward()
    assert (grads(other), grads(x)) == ([2, 2], [7, 7])
    recorded(lambda: nd.BlockGrad(x) * 2).backward()
    assert grads(x) == [0, 0]
    add = leaf([1, 2], "add")
    add.grad[:] = 7
    recorded(lambda: nd.BlockGrad(add) * 2).backward()
    assert grads(add) == [7, 7]
    null = leaf([1, 2], "null")
    with pytest.raises(mx.MXNetError, match=r"gradients|computational graph"):
        recorded(lambda: null * 2).backward()


def test_attaching_again_starts_anew() -> None:
    x = leaf([1, 2])
    y = recorded(lambda: x * 2)
    y.attach_grad()
    recorded(lambda: y * 3).backward()
    assert (grads(y), grads(x)) == ([3, 3], [0, 0])
    x.grad[:] = 3
    x.attach_grad()
    assert grads(x) == [0, 0]
    assert x.grad.grad is None
    assert nd.ones((2,)).grad is None
    z = recorded(lambda: x * 2)
    assert z.grad is None


def test_grad_gives_new_arrays() -> None:
    x, z = leaf([1, 2, 3]), leaf([1, 1, 1])
    got = autograd.grad(recorded(lambda: x * x), x)
    assert isinstance(got, list)
    assert got[0].asnumpy().tolist() == [2, 4, 6]
    assert grads(x) == [0, 0, 0]
    y = recorded(lambda: x * x)
    with pytest.raises(mx.MXNetError, match=r"2-th variable.*unreachable"):
        autograd.grad(y, [x, z])
    with pytest.raises(mx.MXNetError, match=r"1-th variable.*require"):
        autograd.grad(y, [nd.ones((3,))])
    with pytest.raises(mx.MXNetError, match="empty"):
        autograd.grad(y, [])
    got = autograd.grad(recorded(lambda: x * x + nd.BlockGrad(z)), [x, z])
    assert [g.asnumpy().tolist() for g in got] == [[2, 4, 6], [0, 0, 0]]
    inner = recorded(lambda: x * x)
    outer = recorded(lambda: inner * 3)
    assert autograd.grad(outer, inner)[0].asnumpy().tolist() == [3, 3, 3]


def test_gradients_of_gradients() -> None:
    x = leaf([1, 2, 3])
    with autograd.record():
        y = x * x * x
        first = autograd.grad(y, x, create_graph=True)[0]
        penalty = first * first
    assert first.asnumpy().tolist() == [3, 12, 27]
    penalty.backward()
    assert grads(x) == [36, 288, 972]  # d(9 x^4)
    with autograd.record():
        second = autograd.grad(autograd.grad(x * x * x * x, x, create_graph=True)[0], x,
                               create_graph=True)[0]
    second.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [24, 48, 72], rtol=1e-6)


def test_the_gradient_of_a_head_gradient() -> None:
    x, w = leaf([1, 2]), leaf([3, 4])
    with autograd.record():
        dx = autograd.grad(x * x, x, head_grads=w * w, create_graph=True)[0]
    dx.backward()
    assert grads(w) == [12, 32]  # d(2 x w^2)/dw
    assert grads(x) == [18, 32]


def test_modes() -> None:
    seen = [(autograd.is_recording(), autograd.is_training())]

    def look() -> None:
        seen.append((autograd.is_recording(), autograd.is_training()))
    with autograd.record():
        look()
        with autograd.pause():
            look()
        with autograd.predict_mode():
            look()
    with autograd.record(train_mode=False):
        look()
        with autograd.pause(train_mode=True):
            look()
    with autograd.train_mode():
        look()
    look()
    assert seen == [(False, False), (True, True), (False, False), (True, False), (True, False),
                    (False, True), (False, True), (False, False)]
    assert autograd.set_recording(True) is False
    assert autograd.set_recording(False) is True
    assert autograd.set_training(True) is False
    assert autograd.set_training(False) is True
    with pytest.raises(ZeroDivisionError), autograd.record():
        _ = 1 / 0
    assert not autograd.is_recording()
    scope = autograd.record()
    with scope, scope:
        pass
    assert not autograd.is_recording()


def test_modes_are_the_threads_own() -> None:
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append(autograd.is_recording()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_dropout_follows_the_training_mode() -> None:
    x = leaf(np.ones(1000))
    with autograd.record(train_mode=False):
        y = nd.Dropout(x, p=0.5)
    assert (y.asnumpy() == 1).all()
    with autograd.record():
        y = nd.Dropout(x, p=0.5)
    kept = y.asnumpy()
    assert 0 < (kept == 0).sum() < 1000
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), kept)


def test_marking() -> None:
    x, g = nd.ones((3,)), nd.zeros((3,))
    autograd.mark_variables(x, g)
    recorded(lambda: x * 2).backward()
    assert g.asnumpy().tolist() == [2, 2, 2]
    g[0] = 9
    assert grads(x) == [9, 2, 2]
    autograd.mark_variables([x], [g], ["add"])
    recorded(lambda: x * 2).backward()
    assert g.asnumpy().tolist() == [11, 4, 4]
    with pytest.raises(ValueError, match="gradient has shape"):
        autograd.mark_variables(x, nd.zeros((4,)))
    with pytest.raises(TypeError, match="gradient has dtype"):
        autograd.mark_variables(x, nd.zeros((3,), dtype="int32"))


def test_gradients_into_views() -> None:
    store = nd.zeros((3, 2))
    x, y = nd.ones((2,)), nd.ones((2,))
    autograd.mark_variables([x, y], [store[0], store[2]])
    recorded(lambda: x * 2 + y * 3).backward()
    assert store.asnumpy().tolist() == [[2, 2], [0, 0], [3, 3]]


def test_integers_have_gradients_too() -> None:
    x = nd.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    recorded(lambda: x * x).backward()
    assert (x.grad.dtype, grads(x)) == (np.int32, [2, 4, 6])


def test_history_as_a_symbol() -> None:
    x = leaf([1, 2, 3])
    c = nd.array([4, 5, 6])
    symbol = autograd.get_symbol(recorded(lambda: x * c + x))
    assert symbol.list_arguments() == ["var0", "var1"]
    got = symbol.eval(var0=nd.array([1, 1, 1]), var1=nd.array([2, 2, 2]))[0]
    assert got.asnumpy().tolist() == [3, 3, 3]
    with pytest.raises(mx.MXNetError, match="computational graph"):
        autograd.get_symbol(nd.ones((1,)))


def test_only_what_gradients_read_is_kept() -> None:
    n = 1 << 20
    x = leaf(np.ones(n))
    before = mx.memory_stats()["live"]
    with autograd.record():
        y = x + 1
        for _ in range(8):
            y = y + 1
    assert mx.memory_stats()["live"] - before < 3 * 4 * n, "sums keep no intermediate values"
    with autograd.record():
        y = x.exp()
        for _ in range(8):
            y = y.exp().sigmoid()
    assert mx.memory_stats()["live"] - before > 8 * 4 * n, "the outputs are needed"
    y.backward()
    del y
    gc.collect()
    assert mx.memory_stats()["live"] - before < 3 * 4 * n


def test_temporaries_of_backward_are_freed_on_the_way() -> None:
    n = 1 << 20
    x = leaf(np.ones(n))
    y = recorded(lambda: _chain(x))
    before = mx.memory_stats()["live"]
    from ndarray_rt.storage.handle import reset_peak
    reset_peak()
    y.backward()
    assert mx.memory_stats()["peak"] - before < 6 * 4 * n


def _chain(x: Any) -> Any:
    for _ in range(20):
        x = x * 0.9
    return x


def test_a_graph_never_differentiated_goes_away() -> None:
    x = leaf(np.ones(1 << 18))
    gc.collect()
    before = mx.memory_stats()["live"]
    for _ in range(3):
        y = recorded(lambda: x.exp().exp().exp())
    del y
    assert mx.memory_stats()["live"] <= before, "no cycles: freed without the collector"
    constant = nd.ones((1 << 18,))
    recorded(lambda: x * constant)
    with autograd.record():
        constant[:] = 2  # its graph is gone, it is an ordinary array again


def test_long_graphs() -> None:
    x = leaf([1.0])
    with autograd.record():
        y = x
        for _ in range(20000):
            y = y + 1
    y.backward()
    assert grads(x) == [1]


@given(st.lists(st.sampled_from(["add", "mul", "exp", "neg", "slice", "share"]), max_size=12),
       st.sampled_from(["write", "add"]))
def test_random_graphs_against_finite_differences(steps: list[str], req: str) -> None:
    data = np.random.default_rng(len(steps)).uniform(0.3, 0.9, (3, 2))

    def compute(x: Any, exp: Any) -> Any:
        pool = [x, x * 0.5]
        for i, step in enumerate(steps):
            a, b = pool[-1], pool[(i * 7) % len(pool)]
            made: dict[str, Callable[[Any, Any], Any]] = {
                "add": lambda a, b: a + b, "mul": lambda a, b: a * b * 0.5,
                "exp": lambda a, b: exp(a * 0.1), "neg": lambda a, b: 1 - a,
                "slice": lambda a, b: a[::-1], "share": lambda a, b: a + a * 0.25}
            pool.append(made[step](a, b))
        return pool[-1]

    x = nd.array(data, dtype="float64")
    x.attach_grad(req)
    with autograd.record():
        y = compute(x, nd.exp)
    y.backward()
    eps = 1e-6
    for index in np.ndindex(data.shape):
        up, down = data.copy(), data.copy()
        up[index] += eps
        down[index] -= eps
        slope = (compute(up, np.exp).sum() - compute(down, np.exp).sum()) / (2 * eps)
        assert abs(x.grad.asnumpy()[index] - slope) < 1e-5 * (1 + abs(slope))


def test_graphs_that_share_a_leaf_and_a_constant() -> None:
    """The backward of one leaves the other whole, although both read the same values."""
    constant, leaf = nd.array([2.0, 3.0]), nd.array([5.0, 7.0])
    leaf.attach_grad()
    with autograd.record():
        first, second = (leaf * leaf * constant).sum(), (leaf * leaf * constant).sum()
    for head in (first, second):
        leaf.grad[:] = 0
        head.backward()
        np.testing.assert_array_equal(leaf.grad.asnumpy(), [20, 42])
