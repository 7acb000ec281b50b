"""Threads that share arrays, weights and executors. Arguments: what, threads, calls of each."""

from __future__ import annotations

import faulthandler
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.native import lib

faulthandler.enable()
what, threads, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
numbers = np.random.default_rng(0)


def fresh(*shape: int) -> np.ndarray[Any, Any]:
    return numbers.standard_normal(shape).astype("f4")


def at_once(job: Callable[[int, int], object]) -> None:
    """Runs `job(thread, call)` in all threads, `calls` times each."""
    start = threading.Barrier(threads)
    failures: list[str] = []

    def run(number: int) -> None:
        try:
            start.wait()
            for call in range(calls):
                if failures:
                    return
                job(number, call)
        except BaseException:
            failures.append(traceback.format_exc())
    started = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(200)
        assert not thread.is_alive(), "a thread hangs"
    assert not failures, failures[0]


def close(got: mx.nd.NDArray, wanted: np.ndarray[Any, Any]) -> None:
    value = got.asnumpy()
    if not np.allclose(value, wanted, rtol=1e-4, atol=1e-4):
        raise AssertionError(f"off by {np.abs(value - wanted).max()}")


def network() -> mx.sym.Symbol:
    data = mx.sym.var("data")
    net = mx.sym.Convolution(data, kernel=(1, 1), num_filter=16, no_bias=True, name="conv")
    net = mx.sym.Activation(net, act_type="relu")
    return mx.sym.FullyConnected(net, num_hidden=5, name="fc")


def shared_weights() -> None:
    """Executors of all threads on one set of weights, operators on them between."""
    weights = {"conv_weight": fresh(16, 8, 1, 1), "fc_weight": fresh(5, 16 * 16),
               "fc_bias": fresh(5)}
    inputs = [fresh(2, 8, 4, 4) for _ in range(threads)]

    def right(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        y = np.einsum("oi,nihw->nohw", weights["conv_weight"][:, :, 0, 0], x)
        return np.maximum(y, 0).reshape(2, -1) @ weights["fc_weight"].T + weights["fc_bias"]
    shared = {name: mx.nd.array(value) for name, value in weights.items()}
    given = [mx.nd.array(x) for x in inputs]
    bound = [network().bind(mx.cpu(), {"data": given[n], **shared}) for n in range(threads)]
    wanted = [right(x) for x in inputs]
    filtered = [np.einsum("oi,nihw->nohw", weights["conv_weight"][:, :, 0, 0], x) for x in inputs]

    def job(number: int, call: int) -> None:
        if call % 10 == 0:
            close(mx.nd.Convolution(given[number], shared["conv_weight"], kernel=(1, 1),
                                    num_filter=16, no_bias=True), filtered[number])
        elif call % 101 == 0:
            close(shared["conv_weight"], weights["conv_weight"])
        else:
            close(bound[number].forward()[0], wanted[number])
    at_once(job)


def clones() -> None:
    """Each thread its own clone; between runs one of them writes to the weights for all."""
    executor = network().simple_bind(mx.cpu(), data=(2, 8, 4, 4), grad_req="null")
    for array in executor.arg_arrays:
        array[:] = 1
    executor.forward()
    own = [executor.clone(["data"]) for _ in range(threads)]
    barrier = threading.Barrier(threads, timeout=200)
    scale = 1.0

    def job(number: int, call: int) -> None:
        nonlocal scale
        if call % 50 == 0:
            barrier.wait()
            if number == call // 50 % threads:
                scale = 1.0 + call // 50 % 3
                executor.arg_dict["conv_weight"][:] = scale
            barrier.wait()
        x = 1.0 + (number + call) % 7
        got = own[number].forward(data=np.full((2, 8, 4, 4), x, "f4"))[0].asnumpy()
        assert (got == 16 * 16 * 8 * x * scale + 1).all(), (got, x, scale)
    at_once(job)
    assert all(clone.capture_state == "captured" for clone in own), [
        clone.capture_state for clone in own]


def pool() -> None:
    """More threads than clones."""
    executor = network().simple_bind(mx.cpu(), data=(2, 8, 4, 4), grad_req="null")
    for array in executor.arg_arrays:
        array[:] = 1

    def job(number: int, call: int) -> None:
        x = 1.0 + (number + call) % 7
        got = shared.run(data=np.full((2, 8, 4, 4), x, "f4"))[0].asnumpy()
        assert (got == 16 * 16 * 8 * x + 1).all(), (got, x)
    with mx.executor.ExecutorPool(executor, size=2, inputs=["data"]) as shared:
        at_once(job)


def one_executor() -> None:
    """Runs of one executor are serialised, with the inputs that are given to them."""
    executor = network().simple_bind(mx.cpu(), data=(2, 8, 4, 4), grad_req="null")
    for array in executor.arg_arrays:
        array[:] = 1

    def job(number: int, call: int) -> None:
        executor.forward(data=np.full((2, 8, 4, 4), 1.0 + number, "f4"))
        got = executor.outputs[0].asnumpy()
        assert any((got == 16 * 16 * 8 * (1.0 + n) + 1).all() for n in range(threads)), got
    at_once(job)


def layout_changes() -> None:
    """Reads of arrays and of their views while the layout changes under them."""
    values = [fresh(4, 20, 5, 6) for _ in range(3)]
    arrays = [mx.nd.array(value) for value in values]

    def job(number: int, call: int) -> None:
        which = (number + call) % 3
        x, value = arrays[which], values[which]
        match (number + call) % 6:
            case 0:
                x.reorder(("acdb", "aBcd16b", "aBcd8b")[call % 3])
            case 1:
                close(x[1:3], value[1:3])
            case 2:
                close(x, value)
            case 3:
                close(x.reshape((4, -1)), value.reshape(4, -1))
            case 4:
                close(mx.nd.relu(x), np.maximum(value, 0))
            case _:
                close(x.to_mkldnn("aBcd16b")[2], value[2])
    at_once(job)
    assert not any(lib.ndrt_chunk_lease(x._chunk.native) for x in arrays)


def creation() -> None:
    """Primitives of the same and of new shapes, made by all threads at once."""
    before = lib.ndrt_prim_count()

    def job(number: int, call: int) -> None:
        size = 4 + call % 60
        x = mx.nd.ones((1, 4, size, size + 1))
        close(mx.nd.Convolution(x, mx.nd.ones((8, 4, 3, 3)), kernel=(3, 3), num_filter=8,
                                no_bias=True), np.full((1, 8, size - 2, size - 1), 36))
        close(mx.nd.Pooling(x, kernel=(2, 2), pool_type="max"),
              np.ones((1, 4, size - 1, size)))
        if call % 20 == number:
            mx.config.set("NDRT_CACHE_SHAPES", 3)  # groups leave while others use them
    at_once(job)
    assert lib.ndrt_prim_count() < before + 200


def gradients() -> None:
    """Each thread records for itself."""
    w = mx.nd.array(fresh(8, 8))
    weights = w.asnumpy()

    def job(number: int, call: int) -> None:
        x = mx.nd.ones((3, 8)) * (number + 1)
        x.attach_grad()
        with mx.autograd.record(train_mode=bool(number % 2)):
            assert mx.autograd.is_training() == bool(number % 2)
            loss = (mx.nd.FullyConnected(x, w, no_bias=True, num_hidden=8) * x).sum()
        assert not mx.autograd.is_recording()
        loss.backward()
        value = np.full((3, 8), number + 1.0)
        close(x.grad, value @ weights.T + value @ weights)
    at_once(job)


def thread_counts() -> None:
    """The count changes while others compute: whoever computes, the numbers are right."""
    x, w = fresh(8, 16, 14, 14), fresh(32, 16, 1, 1)
    given, weight = mx.nd.array(x), mx.nd.array(w)
    right = np.einsum("oi,nihw->nohw", w[:, :, 0, 0], x)

    def job(number: int, call: int) -> None:
        if number == 0:
            mx.set_num_threads(1 + call % 3)
        close(mx.nd.Convolution(given, weight, kernel=(1, 1), num_filter=32, no_bias=True), right)
    at_once(job)


globals()[what]()
print("done")
