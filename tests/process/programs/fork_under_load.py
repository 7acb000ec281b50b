"""Forks while other threads run everything that has locks. Arguments: forks, threads of load."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import traceback
from functools import partial

import numpy as np

import ndarray_rt as mx
from tests.process.programs.children import (
    RIGHT,
    X,
    bind,
    check,
    convolution,
    fork,
    wait,
    work,
)

forks, threads = int(sys.argv[1]), int(sys.argv[2])
captured, plain = bind(), bind()
for _ in range(4):
    check(captured.forward(data=X)[0], np.maximum(RIGHT, 0))
assert captured.capture_state == "captured", captured.capture_state
stop, rounds = threading.Event(), [0] * threads
failures: list[str] = []
trace = mx.config.NDRT_TRACE


def convolve(count: int) -> None:
    check(convolution(), RIGHT)


def bind_and_run(count: int) -> None:
    executor = bind()
    for _ in range(4):
        out = executor.forward(data=X)[0]
    check(out, np.maximum(RIGHT, 0))


def make_primitives(count: int) -> None:
    size = 5 + count % 100
    mx.nd.Pooling(mx.nd.ones((2, 3, size, size + 1)), kernel=(2, 2), pool_type="max")
    mx.nd.Convolution(mx.nd.ones((1, 4, size, size)), mx.nd.ones((8, 4, 3, 3)), kernel=(3, 3),
                      num_filter=8, no_bias=True)


def run_what_the_child_runs(count: int) -> None:
    captured.forward(data=X)
    plain.forward(data=X)


def change_state(count: int) -> None:
    with mx.config.override(NDRT_TRACE=trace):
        mx.nd.random.uniform(shape=(100,))
        mx.nd.floor(X)
    X.reorder(("acdb", "aBcd8b")[count % 2])
    X.reorder_to_default()


def load(number: int) -> None:
    jobs = [convolve, bind_and_run, make_primitives, run_what_the_child_runs, change_state]
    try:
        for count in itertools.count():
            if stop.is_set():
                return
            jobs[(number + count) % len(jobs)](count)
            rounds[number] += 1
    except BaseException:
        failures.append(traceback.format_exc())


loaded = [threading.Thread(target=load, args=(n,), daemon=True) for n in range(threads)]
for thread in loaded:
    thread.start()
start = time.monotonic()
for number in range(forks):
    wait(fork(partial(work, [captured, plain], number)))
seconds = time.monotonic() - start
work([captured, plain])
stop.set()
for thread in loaded:
    thread.join(60)
    assert not thread.is_alive(), "the load hangs"
assert not failures, failures[0]
assert min(rounds) > 0, rounds
print(f"{forks} forks under {threads} threads in {seconds:.1f} s; rounds of load: {rounds}")
