"""What forked programs share: a network, its right numbers, and the work that a child must do."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.testing  # by one thread only: another may fork meanwhile

import ndarray_rt as mx

# Python 3.12 warns of every fork of a process with threads
warnings.simplefilter("ignore", DeprecationWarning)
faulthandler.enable()
numbers = np.random.default_rng(0)
X = mx.nd.array(numbers.standard_normal((4, 8, 20, 20)).astype("f4"))
W = mx.nd.array(numbers.standard_normal((16, 8, 3, 3)).astype("f4"))
net = mx.sym.Activation(mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=16,
                                           no_bias=True, name="conv"), act_type="relu")


def convolution(w: mx.nd.NDArray = W) -> mx.nd.NDArray:
    return mx.nd.Convolution(X, w, kernel=(3, 3), num_filter=16, no_bias=True)


def windows(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return np.einsum("ncyxij,ocij->noyx", seen, W.asnumpy())


RIGHT = windows(X.asnumpy())


def check(got: mx.nd.NDArray, wanted: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-3, atol=1e-3)


def bind() -> mx.executor.Executor:
    executor = net.simple_bind(mx.cpu(), data=X.shape, grad_req="null")
    executor.copy_params_from({"conv_weight": W})
    return executor


def gradient() -> None:
    w = mx.nd.array(W.asnumpy())
    w.attach_grad()
    with mx.autograd.record():
        loss = convolution(w).sum()
    loss.backward()
    seen = np.lib.stride_tricks.sliding_window_view(X.asnumpy(), (3, 3), (2, 3))
    np.testing.assert_allclose(w.grad.asnumpy()[0], seen.sum((0, 2, 3)), rtol=1e-3, atol=1e-2)


def work(executors: Sequence[mx.executor.Executor] = (), new: int = 0) -> None:
    """Operators, executors of before, new primitives, a gradient, a new executor."""
    check(convolution(), RIGHT)
    for executor in executors:
        for _ in range(4):
            check(executor.forward(data=X)[0], np.maximum(RIGHT, 0))
    size = 5 + new % 50
    ones = mx.nd.ones((2, 3, size + 3, size))
    check(mx.nd.Pooling(ones, kernel=(2, 2), pool_type="avg"), np.ones((2, 3, size + 2, size - 1)))
    # more than one thread's share of elements
    many = mx.nd.ones((1 << 17,)) + size
    assert float(many.sum().asscalar()) == (1 << 17) * (size + 1.0)
    gradient()
    executor = bind()
    for _ in range(3):
        check(executor.forward(data=X)[0], np.maximum(RIGHT, 0))


def fork(job: Callable[[], object]) -> int:
    """The number of a child that does a job and leaves."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            job()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return pid


def wait(pid: int, seconds: float = 60) -> None:
    """Waits for a child; it must leave in time and with 0."""
    end = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            assert status == 0, f"a child ended with {status}"
            return
        if time.monotonic() > end:
            os.kill(pid, signal.SIGABRT)  # it says where it stands
            os.waitpid(pid, 0)
            raise AssertionError(f"child {pid} hangs")
        time.sleep(0.001)
