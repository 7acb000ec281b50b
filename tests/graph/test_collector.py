"""Python's collector of garbage rests while graphs are built, and afterwards is what it was."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

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


# one that comes while a block goes is told of and ignored
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_may_come_at_any_line() -> None:
    def interrupt(after: int) -> bool:
        """At so many lines of the module; whether there were so many."""
        left = after

        def trace(frame: Any, event: str, arg: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename != collector.__file__:
                return None
            if event == "line":
                left -= 1
                if not left:
                    raise KeyboardInterrupt
            return trace
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with resting_collector():
                pass
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        return left <= 0

    lines = 1
    while interrupt(lines):
        assert gc.isenabled()
        assert not collector._rest._blocks
        lines += 1
    assert lines > 10
