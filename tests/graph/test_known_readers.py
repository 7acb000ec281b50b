"""Recorded runs that look at no weight as long as nobody changes one."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.native import lib
from tests.frames import frames_of

DEPTH = 12


def chain() -> mx.executor.Executor:
    net = mx.sym.var("data")
    for i in range(DEPTH):
        net = mx.sym.FullyConnected(net, num_hidden=8, name=f"layer{i}")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(4, 8))
    draw = np.random.default_rng(5)
    for array in executor.arg_dict.values():
        array[:] = draw.normal(size=array.shape) / 2
    for _ in range(5):
        executor.forward()
    assert executor.capture_state == "captured"
    return executor


def right(executor: mx.executor.Executor) -> np.ndarray:
    values = {name: array.asnumpy().astype("f8") for name, array in executor.arg_dict.items()}
    x = values["data"]
    for i in range(DEPTH):
        x = x @ values[f"layer{i}_weight"].T + values[f"layer{i}_bias"]
    return x


def check(executor: mx.executor.Executor) -> None:
    expected = right(executor)
    found = executor.forward()[0].asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def through_a_view(array: mx.nd.NDArray) -> None:
    array[1:2] = 0.25


def through_numpy(array: mx.nd.NDArray) -> None:
    array.__array__(copy=False)[...] *= 0.5


def with_out(array: mx.nd.NDArray) -> None:
    mx.nd.negative(array, out=array)


@pytest.mark.parametrize(("write", "name"), [
    (through_a_view, "layer0_weight"), (through_a_view, "layer7_bias"),
    (with_out, "layer0_weight"), (with_out, "layer11_weight"), (through_numpy, "layer7_bias")])
def test_each_write_is_seen(write: Callable[[mx.nd.NDArray], None], name: str) -> None:
    executor = chain()
    for pause in (1, 4, 1, 1, 9):
        write(executor.arg_dict[name])
        for _ in range(pause):
            check(executor)


def test_a_view_of_numpy_that_lives_on_is_seen_at_each_run() -> None:
    executor = chain()
    view = executor.arg_dict["layer3_bias"].__array__(copy=False)
    for _ in range(6):
        view *= -0.75
        check(executor)
    del view
    for _ in range(4):
        check(executor)


def test_clones_on_the_same_weights() -> None:
    executor = chain()
    clones = [executor.clone() for _ in range(3)]
    for clone in clones:
        clone.arg_dict["data"][:] = 0.5
        for _ in range(4):
            check(clone)
    executor.arg_dict["layer5_weight"][:] = 0.125
    for one in (executor, *clones):
        check(one)
    del clones[1], clone
    with_out(executor.arg_dict["layer5_weight"])
    for one in (executor, *clones):
        check(one)


def test_a_writer_waits_for_readers_and_readers_for_him() -> None:
    """All numbers of a weight are equal whenever a run reads them, or its output would tell."""
    data, weight = mx.sym.var("data"), mx.sym.var("weight")
    net = mx.sym.FullyConnected(data, weight, num_hidden=1024, no_bias=True)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(1, 1024))
    executor.arg_dict["data"][:] = 1
    shared = executor.arg_dict["weight"]
    shared[:] = 1
    ended = threading.Event()
    failures: list[str] = []

    def run() -> None:
        mine = executor.clone()
        mine.arg_dict["data"][:] = 1
        while not ended.is_set():
            found = mine.forward()[0].asnumpy()
            if found.min() != found.max():
                failures.append(f"{found.min()} to {found.max()}")
    threads = [threading.Thread(target=run, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(200):
        shared[:] = i % 7
    ended.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert not failures, failures[:3]
    assert lib.ndrt_chunk_lease(shared._chunk.native) == 0


def test_a_replay_enters_no_python_but_its_own() -> None:
    executor, x = chain(), mx.nd.ones((4, 8))
    assert frames_of(executor.forward) == ["forward"]
    executor.forward(data=x)
    entered = frames_of(lambda: executor.forward(data=x))
    assert entered == ["forward", "copy_plain", "copy_to_place"]
    check(executor)
