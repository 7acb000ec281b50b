"""Live bytes come back to what they were, whatever ends: executors, caches, threads, failures."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op.prim_cache import CACHE


def live() -> int:
    gc.collect()
    CACHE.clear_released()
    gc.collect(0)
    return mx.memory_stats()["live"]


@contextmanager
def returns() -> Iterator[None]:
    before, names = live(), set(mx.memory_stats()["sessions"])
    yield
    assert live() == before
    assert set(mx.memory_stats()["sessions"]) == names


def train() -> None:
    """A step with a bit of everything; leaves nothing to its caller."""
    y = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=20, name="conv")
    y = mx.sym.LRN(mx.sym.Activation(y, act_type="tanh"), nsize=3)
    y = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(y, num_hidden=10, name="fc"), name="softmax")
    executor = y.simple_bind(data=(2, 3, 9, 9))
    for _ in range(3):
        executor.forward(is_train=True, data=np.ones((2, 3, 9, 9), np.float32))
        executor.backward()
        executor.forward()


def imperative() -> None:
    x = mx.nd.array(np.ones((2, 3, 9, 9), np.float32))
    w = mx.nd.array(np.ones((20, 3, 3, 3), np.float32))
    for array in (x, w):
        array.attach_grad()
    with mx.autograd.record():
        y = mx.nd.relu(mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=20, no_bias=True)).sum()
    y.backward()
    w.grad.asnumpy()


def in_thread(work: Callable[[], object]) -> None:
    raised: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    del thread
    if raised:
        raise raised[0]


def settle() -> None:
    """What this thread keeps for its next call, and what the shared store keeps, is there."""
    train()
    imperative()


@pytest.mark.parametrize("work", [train, imperative])
def test_after_work(work: Callable[[], None]) -> None:
    settle()
    with returns():
        work()


@pytest.mark.parametrize("work", [train, imperative])
def test_a_thread_that_ended_leaves_nothing(work: Callable[[], None]) -> None:
    settle()
    with returns():
        for _ in range(5):
            in_thread(work)


def test_a_thread_has_an_account_of_its_own_while_it_lives() -> None:
    imperative()
    inside: list[dict[str, Any]] = []

    def work() -> None:
        imperative()
        inside.append(dict(mx.memory_stats()["sessions"]))
    before = set(mx.memory_stats()["sessions"])
    in_thread(work)
    new = set(inside[0]) - before
    assert len(new) == 1
    name = next(iter(new))
    assert name.startswith("thread ")
    assert inside[0][name]["peak"] > 0, "the scratch of its calls"
    assert not new & set(mx.memory_stats()["sessions"])


def test_threads_share_the_primitives_of_imperative_calls() -> None:
    imperative()
    before = mx.cache_stats()
    in_thread(imperative)
    after = mx.cache_stats()
    assert after["misses"] == before["misses"]
    assert after["primitives"] == before["primitives"]


def test_arrays_dropped_in_other_threads() -> None:
    settle()
    with returns():
        there = [mx.nd.ones((1000,)) for _ in range(10)]
        in_thread(there.clear)
        here: list[Any] = []
        in_thread(lambda: here.append(mx.nd.ones((1000,))))
        here.clear()


def test_scratch_inside_other_calls_goes_with_its_thread() -> None:
    """Operators of users call operators; each depth has scratch of its own."""
    class Twice(mx.autograd.Function):
        def forward(self, x: Any) -> Any:
            w = mx.nd.ones((20, 3, 3, 3))
            return mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=20, no_bias=True)

        def backward(self, dy: Any) -> Any:
            return mx.nd.zeros((1, 3, 9, 9))

    def work() -> None:
        x = mx.nd.ones((1, 3, 9, 9))
        x.attach_grad()
        with mx.autograd.record():
            y = Twice()(x)
        y.backward()
    settle()
    work()
    with returns():
        for _ in range(3):
            in_thread(work)


def test_after_exceptions() -> None:
    settle()
    with returns():
        for _ in range(3):
            with pytest.raises(mx.MXNetError):
                mx.nd.Convolution(mx.nd.ones((1, 3, 4, 4)), mx.nd.ones((2, 3, 9, 9)),
                                  kernel=(9, 9), num_filter=2, no_bias=True)
            with pytest.raises(mx.MXNetError):
                mx.sym.Variable("x").simple_bind()
            with pytest.raises(MemoryError):
                mx.nd.zeros((1 << 43,), dtype=np.uint8).asnumpy()


def test_after_the_caches_are_cleared() -> None:
    settle()
    mx.clear_cache()
    with returns():
        settle()
        mx.clear_cache()
