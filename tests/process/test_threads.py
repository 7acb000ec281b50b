"""Many threads at once on shared arrays: right numbers, no crash, no hang (I8)."""

from __future__ import annotations

import threading

import pytest

import ndarray_rt as mx
from tests.process.helpers import run_program


@pytest.mark.parametrize(("what", "threads", "calls", "team"), [
    ("one_executor", 4, 300, 2), ("layout_changes", 6, 600, 1), ("layout_changes", 3, 200, 2),
    ("clones", 8, 300, 1), ("clones", 3, 100, 2), ("pool", 6, 200, 1),
    ("creation", 4, 120, 1), ("gradients", 4, 150, 1), ("thread_counts", 3, 100, 2)])
def test_threads(what: str, threads: int, calls: int, team: int) -> None:
    assert run_program("many_threads", what, threads, calls, threads=team) == "done\n"


def test_10000_calls_in_each_of_8_threads() -> None:
    assert run_program("many_threads", "shared_weights", 8, 10_000, threads=1) == "done\n"


def test_threads_inside_of_one_context_do_not_mix_up_what_is_around() -> None:
    ctx, inside, left = mx.cpu(0), threading.Event(), threading.Event()
    found: list[mx.Context] = []

    def other() -> None:
        with mx.cpu(3):
            with ctx:
                inside.set()
                left.wait(10)
            found.append(mx.current_context())

    thread = threading.Thread(target=other)
    with mx.cpu(2):
        with ctx:
            thread.start()
            inside.wait(10)
        found.append(mx.current_context())
    left.set()
    thread.join()
    assert found == [mx.cpu(2), mx.cpu(3)]
