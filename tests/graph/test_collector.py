"""Python's collector of garbage rests while graphs are built, and afterwards is what it was."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import pytest

import ndarray_rt as mx
from ndarray_rt import collector
from ndarray_rt.collector import resting_collector


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()
    assert not collector._rest._blocks


def test_blocks_in_blocks() -> None:
    with resting_collector():
        assert not gc.isenabled()
        with resting_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="x"), resting_collector():
        raise ValueError("x")
    assert gc.isenabled()


def test_what_a_user_switched_stays() -> None:
    gc.disable()
    with resting_collector():
        pass
    assert not gc.isenabled()
    gc.enable()
    with resting_collector():
        gc.enable()
    assert gc.isenabled()


def test_the_last_thread_ends_it() -> None:
    entered, leave = threading.Event(), threading.Event()

    def rest() -> None:
        with resting_collector():
            entered.set()
            leave.wait()
    thread = threading.Thread(target=rest)
    with resting_collector():
        thread.start()
        entered.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_a_block_collects() -> None:
    with resting_collector():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()


def test_graphs_are_built_without_it() -> None:
    y = mx.sym.var("x")
    for _ in range(300):
        y = mx.sym.tanh(y * 1.5)
    y.simple_bind(mx.cpu(), x=(2, 3))  # imports what it needs
    seen = []

    def note(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)
    gc.collect()
    gc.callbacks.append(note)
    before = gc.get_threshold()
    gc.set_threshold(100, 5, 5)
    try:
        made = y.simple_bind(mx.cpu(), x=(2, 3))
        bound = len(seen)
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(note)
    made.forward(is_train=True, x=mx.nd.ones((2, 3)))
    assert gc.isenabled()
    assert bound < 10  # else some hundreds
