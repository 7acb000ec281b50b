"""What must hold when the system has no memory left, one scenario by its name."""

from __future__ import annotations

import ctypes
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import OutOfMemory
from ndarray_rt.imperative.invoke import invoke
from ndarray_rt.native import lib, text
from ndarray_rt.op.registry import REGISTRY, find
from ndarray_rt.ops.blas import NUMPY

nd = mx.nd
KIB, MIB = 1 << 10, 1 << 20


@contextmanager
def address_space(more: int) -> Iterator[None]:
    """At most so many bytes more than now."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def must_lack(run: Callable[[], object]) -> None:
    try:
        run()
    except OutOfMemory as error:
        print("lacks:", error)
    else:
        raise AssertionError("there was memory")


def must_be(array: Any, expected: Any) -> None:
    np.testing.assert_allclose(array.asnumpy(), expected, rtol=1e-5)


def creation() -> None:
    """A creation that fails leaves nothing behind: this thread can make primitives afterwards."""
    a, b = nd.ones((64, 64)), nd.ones((3, 40))
    for x in (a, b):
        x.asnumpy()
    for more in (0, 64 * KIB, 300 * KIB, 2 * MIB):
        with address_space(more):
            must_lack(lambda: nd.dot(a, a))
    must_be(nd.dot(a, a), np.full((64, 64), 64))
    must_be(nd.softmax(b), np.full((3, 40), 1 / 40))


def spoiled() -> None:
    """Somebody's call of oneDNN failed in this thread, and gemm's code could never be made."""
    onednn = ctypes.CDLL(text(lib.ndrt_engine_library()))
    floats = ctypes.c_float * 64
    a, b, c = floats(), floats(), floats()
    n, one, zero = ctypes.c_int64(3), ctypes.c_float(1), ctypes.c_float(0)

    def multiply() -> int:
        status: int = onednn.dnnl_sgemm(b"N"[0], b"N"[0], n, n, n, one, a, n, b, n, zero, c, n)
        return status

    # oneDNN does not look whether it got the few bytes of an object: only code may find no memory
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(100 * KIB))))
    with address_space(64 * KIB):
        status = multiply()
    assert status != 0
    assert multiply() == status, "oneDNN recovers by itself now"
    gemm()
    must_be(nd.softmax(nd.ones((3, 40))), np.full((3, 40), 1 / 40))
    recurrent()
    must_be(nd.Pooling(nd.ones((1, 3, 6, 6)), kernel=(2, 2)), np.ones((1, 3, 5, 5)))


def gemm() -> None:
    """A product of oneDNN's gemm that fails is one that can be had later, by every thread."""
    x, w, b = nd.ones((4, 1280)), nd.ones((5, 1280)), nd.ones((5,))
    w.attach_grad()

    def gradient() -> Any:
        with mx.autograd.record():
            y = nd.FullyConnected(x, w, b, num_hidden=5)
        y.backward()
        return w.grad

    for array in (x, w, b, w.grad):
        array.asnumpy()
    for more in (0, 1500 * KIB, 40 * MIB):
        with address_space(more), suppress(OutOfMemory):
            gradient()
    must_be(gradient(), np.full((5, 1280), 4))
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(gradient()))
    thread.start()
    thread.join()
    must_be(results[0], np.full((5, 1280), 4))


def large_gemm() -> None:
    """A bound executor whose gemm gets no buffers fails so that it can be run again."""
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=5, no_bias=True, name="f")
    executor = net.simple_bind(mx.cpu(), data=(8, 33 * 64 * 64))
    for array in executor.arg_arrays:
        array[:] = 1
    heads = nd.ones((8, 5))

    def step() -> None:
        executor.forward(is_train=True)
        executor.backward(heads)

    for more in (0, 4 * MIB, None, 0, 4 * MIB):  # before the recording, and in replays
        for _ in range(3):
            if more is None:
                step()
                continue
            with address_space(more):
                must_lack(step)
    step()
    must_be(executor.grad_dict["f_weight"], np.full((5, 33 * 64 * 64), 8))


def recurrent() -> None:
    """A recurrent layer that was run before gets no memory for another run."""
    n_in, hidden = 6, 8
    parameters = nd.full((3 * hidden * (n_in + hidden + 2),), 0.1)
    data, state = nd.ones((5, 4, n_in)), nd.ones((1, 4, hidden))
    out = nd.zeros((5, 4, hidden))

    def run() -> None:
        nd.RNN(data, parameters, state, state_size=hidden, num_layers=1, mode="gru", out=out)

    run()
    before = out.asnumpy()
    out[:] = 0
    with address_space(256 * KIB):
        must_lack(run)
    run()
    must_be(out, before)


def replay() -> None:
    """The heap has not one free piece when a recorded run begins."""
    h = mx.sym.Variable("data")
    for i in range(3):
        h = mx.sym.Activation(mx.sym.FullyConnected(h, num_hidden=40, name=f"f{i}"),
                              act_type="relu")
    executor = h.simple_bind(mx.cpu(), data=(3, 40), grad_req="null")
    for array in executor.arg_arrays:
        array[:] = 0.5
    for _ in range(4):
        executor.forward()
    expected = executor.outputs[0].asnumpy()
    c = ctypes.CDLL(None)
    c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    c.free.argtypes = [ctypes.c_void_p]
    taken = (ctypes.c_void_p * (1 << 20))()
    n = 0
    with address_space(0):
        for size in (MIB, 64 * KIB, 4 * KIB, *range(1024, 8, -16)):
            while piece := c.malloc(size):
                taken[n] = piece
                n += 1
        try:
            executor.forward()
        except MemoryError:
            lacked = True
        else:
            lacked = False
        finally:
            for i in range(n):
                c.free(taken[i])
    assert lacked
    executor.forward()
    must_be(executor.outputs[0], expected)


def team() -> None:
    """A thread that computes for the first time can not have OpenMP's threads."""
    assert lib.ndrt_threads_get() == 2
    x = nd.ones((1000, 1000))
    out = nd.zeros((1000, 1000))
    nd.tanh(x, out=out)
    lacked: list[bool] = []
    ready, go = threading.Event(), threading.Event()

    def work() -> None:
        ready.set()
        go.wait()
        try:
            nd.tanh(x, out=out)
        except OutOfMemory:
            lacked.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    with address_space(256 * KIB):
        go.set()
        thread.join()
    assert lacked == [True]
    out[:] = 0
    thread = threading.Thread(target=lambda: nd.tanh(x, out=out))
    thread.start()
    thread.join()
    must_be(out, np.tanh(np.ones((1000, 1000), "f4")))


def blas() -> None:
    """Whatever NumPy multiplies or solves fails while its BLAS has no buffer, and lives."""
    from tests.case_table import all_cases

    rng = np.random.default_rng(0)
    lacked: dict[str, str] = {}
    for case in all_cases():
        drawn = [given.draw(rng, case.dtypes[0]) for given in case.all_inputs()]
        ins = [nd.array(x, dtype=x.dtype) for x in drawn]
        with config.override(NDRT_ONEDNN=False), address_space(20 * MIB):
            try:
                invoke(find(case.op), ins, case.params)
            except OutOfMemory as error:
                lacked[case.op] = str(error)
            except mx.MXNetError:
                pass  # a context that is refused
    for name in USE_BLAS:
        assert "no memory for BLAS" in lacked[name], lacked[name]
    # a buffer that was had once stays
    x = nd.array([[4, 2], [2, 3]])
    for more in (64 * MIB, 2 * MIB):
        with address_space(more):
            must_be(nd.linalg.det(x), 8)
            must_be(nd.linalg.potrf(x), [[2, 0], [1, 2 ** 0.5]])


def blas_in_threads() -> None:
    """One buffer serves one thread at a time: a second thread inside needs another one."""
    nd.linalg.det(nd.ones((2, 2)))
    inside, done = threading.Event(), threading.Event()

    def stay() -> None:
        with NUMPY:
            inside.set()
            done.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    x = nd.ones((2, 2))
    with address_space(20 * MIB):
        must_lack(lambda: nd.linalg.det(x))
    done.set()
    thread.join()
    with address_space(20 * MIB):
        must_be(nd.linalg.det(x), 0)


USE_BLAS = ("Convolution", "FullyConnected", "RNN", "_linalg_det", "_linalg_gemm2",
            "_linalg_inverse", "_linalg_potrf", "_linalg_syevd", "batch_dot", "dot")


if __name__ == "__main__":
    REGISTRY.ops()  # loads all operators: importing one takes memory too
    globals()[sys.argv[1]]()
