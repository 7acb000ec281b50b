"""Teams of threads on cores that others use too, one scenario by its name."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import ndarray_rt as mx
from ndarray_rt.native import lib

nd = mx.nd
LOOK, ALWAYS, NEVER = lib.NDRT_CROWD_LOOK, lib.NDRT_CROWD_ALWAYS, lib.NDRT_CROWD_NEVER
X, Y = nd.ones((1000, 1000)), nd.zeros((1000, 1000))


def region() -> None:
    """Work for the whole team."""
    nd.tanh(X, out=Y)


def until(holds: Callable[[], bool], pause: float) -> None:
    for _ in range(2000):
        region()
        if holds():
            return
        time.sleep(pause)
    raise AssertionError("it never came to that")


def idle_cpu(mode: int) -> float:
    """Seconds that the team computes while there is nothing to compute."""
    lib.ndrt_crowd_set(mode, 0)
    for _ in range(3):
        region()
    used = 0.0
    for _ in range(20):
        region()
        before = time.process_time()
        time.sleep(0.03)
        used += time.process_time() - before
    return used


def waiting() -> None:
    """With others about, threads sleep while they wait; else they spin."""
    assert idle_cpu(ALWAYS) < idle_cpu(NEVER) / 3


def threads_of_this() -> int:
    return len(os.listdir("/proc/self/task"))


def looks() -> None:
    """More threads than cores are seen after a few regions; that they are gone, after a while."""
    lib.ndrt_crowd_set(LOOK, 1)
    for _ in range(20):
        region()
        time.sleep(0.01)
        assert not lib.ndrt_crowd_seen()
    alone = threads_of_this()
    lib.ndrt_crowd_set(LOOK, 10_000)
    until(lambda: bool(lib.ndrt_crowd_seen()), 0.002)
    # a thread that has ended is listed until the kernel gets to it, on a busy machine for long
    second = len(os.sched_getaffinity(0))
    until(lambda: threads_of_this() == alone + second, 0.01)
    for _ in range(20):  # once is enough
        region()
        time.sleep(0.01)
        assert lib.ndrt_crowd_seen()
        assert threads_of_this() == alone + second
    lib.ndrt_crowd_set(LOOK, 1)
    until(lambda: not lib.ndrt_crowd_seen(), 0.01)
    until(lambda: threads_of_this() == alone, 0.01)


@contextmanager
def busy() -> Iterator[None]:
    """Two processes for each core, which never wait for anything."""
    others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
              for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()


def others() -> None:
    """Busy processes are seen."""
    with busy():
        until(lambda: bool(lib.ndrt_crowd_seen()), 0.001)


def switched_off() -> None:
    with busy():
        for _ in range(50):
            region()
            assert not lib.ndrt_crowd_seen()


def results() -> None:
    """The same bits, however threads wait."""
    x, w = nd.random.normal(shape=(4, 32, 24, 24)), nd.random.normal(shape=(32, 32, 3, 3))
    w.attach_grad()
    made = []
    for mode in (NEVER, ALWAYS, NEVER):
        lib.ndrt_crowd_set(mode, 0)
        region()
        with mx.autograd.record():
            y = nd.Convolution(x, w, kernel=(3, 3), num_filter=32, no_bias=True)
        y.backward()
        made.append((y.asnumpy(), w.grad.asnumpy()))
    for out, grad in made[1:]:
        np.testing.assert_array_equal(out, made[0][0])
        np.testing.assert_array_equal(grad, made[0][1])


def fork() -> None:
    """Both sides of a fork compute, and have second teams of their own."""
    lib.ndrt_crowd_set(ALWAYS, 0)
    region()
    assert lib.ndrt_crowd_seen()
    child = os.fork()
    assert not lib.ndrt_crowd_seen()
    region()
    until(lambda: bool(lib.ndrt_crowd_seen()), 0.01)
    if not child:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("done")
