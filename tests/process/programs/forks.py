"""Other ways to fork; the argument names one."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.dtypes import FLOAT32
from ndarray_rt.executor.tiles.cpu_caches import shared_cache_bytes
from ndarray_rt.executor.tuning.table import this_machine
from ndarray_rt.native import lib
from ndarray_rt.storage.desc import blocked_desc
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


def before_anything_was_computed() -> None:
    wait(fork(work))
    work()


def from_another_thread() -> None:
    work()
    thread = threading.Thread(target=lambda: wait(fork(work)))
    thread.start()
    thread.join()
    work()


def a_child_that_forks() -> None:
    work()

    def parent() -> None:
        work()
        wait(fork(work))
        work()
    wait(fork(parent))
    work()


def from_two_threads_at_once() -> None:
    work()
    start = threading.Barrier(2)
    failures: list[BaseException] = []

    def forks() -> None:
        start.wait()
        try:
            for _ in range(20):
                wait(fork(lambda: check(convolution(), RIGHT)))
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=forks) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def _sum(number: int) -> float:
    x = mx.nd.ones((64, 300)) * number
    check(convolution(), RIGHT)
    return float(x.sum().asscalar())


def pool_of_processes() -> None:
    work()
    context = multiprocessing.get_context("fork")
    with context.Pool(3) as pool:
        assert pool.map(_sum, range(30)) == [64 * 300.0 * n for n in range(30)]
    work()


def other_programs() -> None:
    """Not a fork that runs on in Python: nothing waits, nothing is given up."""
    work()
    assert subprocess.run(["true"], check=True).returncode == 0
    # this one forks in truth
    subprocess.run(["true"], check=True, preexec_fn=os.getpid)
    assert os.system("true") == 0
    work()


def with_more_threads_than_the_parent() -> None:
    """A primitive keeps the threads that it was made for."""
    executor = bind()
    for _ in range(4):
        executor.forward(data=X)
    assert mx.get_num_threads() == 2

    def child() -> None:
        assert mx.get_num_threads() == 2
        check(executor.forward(data=X)[0], np.maximum(RIGHT, 0))
        tasks = len(os.listdir("/proc/self/task"))
        assert tasks >= 2, "the team was not made anew"
        mx.set_num_threads(1)
        work([executor])
        mx.set_num_threads(3)
        work([executor])
    wait(fork(child))
    work([executor])


def leases_of_other_threads() -> None:
    """What a thread of the parent reads or writes is free in the child."""
    from ndarray_rt._array.access import Access
    from ndarray_rt.native import lib
    x = mx.nd.ones((3, 4))
    held, leave = threading.Event(), threading.Event()

    def holds() -> None:
        with Access(written=(x,)):
            held.set()
            leave.wait()
        x.asnumpy()
    thread = threading.Thread(target=holds)
    thread.start()
    held.wait()
    assert lib.ndrt_chunk_lease(x._chunk.native) == -1

    def child() -> None:
        assert lib.ndrt_chunk_lease(x._chunk.native) == 0
        x[:] = 5
        check(x + 1, np.full((3, 4), 6))
        assert lib.ndrt_chunk_lease(x._chunk.native) == 0
    wait(fork(child))
    assert lib.ndrt_chunk_lease(x._chunk.native) == -1
    leave.set()
    thread.join()

    # its own, taken before the fork, count as given back, and giving them back does nothing
    with Access(read=(x,)):
        wait(fork(child))

        def leaves() -> None:
            with Access(written=(x,)):
                pass
        child_pid = fork(leaves)
        wait(child_pid)
        assert lib.ndrt_chunk_lease(x._chunk.native) == 1
    assert lib.ndrt_chunk_lease(x._chunk.native) == 0


def chunks_that_know_a_reader() -> None:
    """Who reads without being counted reads no more in the child, and both go on by themselves."""
    from ndarray_rt.native import lib
    from ndarray_rt.storage.lease import Leases
    x, y = mx.nd.ones((3, 4)), mx.nd.ones((3, 4))
    leases = Leases([x._chunk, y._chunk], [])
    assert not lib.ndrt_lockset_bias(leases.native)
    assert lib.ndrt_lockset_try(leases.native)

    def child() -> None:
        assert lib.ndrt_chunk_lease(x._chunk.native) == 0
        x[:] = 5
        for _ in range(3):
            assert lib.ndrt_lockset_try(leases.native)
            assert lib.ndrt_chunk_lease(x._chunk.native) == 1
            leases.give_back()
        y[:] = 6
        check(x + y, np.full((3, 4), 11))
    wait(fork(child))
    assert lib.ndrt_chunk_lease(x._chunk.native) == 1
    leases.give_back()
    x[:] = 7
    check(x, np.full((3, 4), 7))
    executor = bind()
    for _ in range(5):
        work([executor])

    def goes_on() -> None:
        for array in executor.arg_dict.values():
            array[:] = array.asnumpy()
        for _ in range(3):
            work([executor])
    wait(fork(goes_on))
    goes_on()


def a_run_of_another_thread() -> None:
    """An executor whose run the child does not have records anew there."""
    executor = bind()
    inside, leave = threading.Event(), threading.Event()

    def monitor(name: str, array: mx.nd.NDArray) -> None:
        inside.set()
        leave.wait()
    for _ in range(4):
        executor.forward(data=X)
    assert executor.capture_state == "captured"
    executor.set_monitor_callback(monitor)
    thread = threading.Thread(target=executor.forward)
    thread.start()
    inside.wait()
    # until it waits, too: a sanitizer's allocator that it is in the midst of is locked in a child
    time.sleep(0.2)

    def child() -> None:
        executor.set_monitor_callback(None)
        assert executor.capture_state == "a fork interrupted a run"
        for array in executor.outputs + executor.arg_arrays:
            assert np.isfinite(array.asnumpy()).all()
        work([executor])
        assert executor.capture_state == "captured"
    wait(fork(child))
    leave.set()
    thread.join()
    executor.set_monitor_callback(None)
    work([executor])


def while_threads_hand_over_a_lock() -> None:
    """A thread that waits for a lock has it a little before the lock says so."""
    executor = bind()
    stop = threading.Event()

    def runs() -> None:
        while not stop.is_set():
            executor.forward()
    threads = [threading.Thread(target=runs) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            wait(fork(executor.forward), 20)
    finally:
        stop.set()
    for thread in threads:
        thread.join()


LRN = "ndarray_rt.ops.nn.lrn"


class _Import:
    """Calls `job` in the midst of the import of a module: when it is found, or when it runs."""

    def __init__(self, name: str, phase: str, job: Callable[[], object]) -> None:
        assert name not in sys.modules
        self.name, self.phase, self.job = name, phase, job
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        if self.phase == "finds":
            self.job()
        else:
            loader: Any = spec.loader
            execute = loader.exec_module

            def with_job(module: ModuleType) -> None:
                self.job()
                execute(module)
            loader.exec_module = with_job
        return spec


def _fork_while_imported(name: str, phase: str, job: Callable[[], object]) -> None:
    """Forks while a thread does `job`, which imports the module; the child does it, too."""
    begun = threading.Event()

    def wait_in_import() -> None:
        begun.set()
        time.sleep(0.5)
    _Import(name, phase, wait_in_import)
    thread = threading.Thread(target=job)
    thread.start()
    assert begun.wait(20)
    wait(fork(job), 20)
    thread.join()
    work()


def _normalize() -> None:
    check(mx.nd.LRN(mx.nd.ones((1, 2, 3, 3)), alpha=0.0, beta=0.75, knorm=1, nsize=3),
          np.ones((1, 2, 3, 3)))


def _visualize() -> None:
    import ndarray_rt.visualization
    assert callable(ndarray_rt.visualization.print_summary)


def while_a_thread_finds_an_operator() -> None:
    _fork_while_imported(LRN, "finds", _normalize)


def while_a_thread_loads_an_operator() -> None:
    _fork_while_imported(LRN, "runs", _normalize)


def while_a_thread_imports_a_module() -> None:
    _fork_while_imported("ndarray_rt.visualization", "runs", _visualize)


def while_a_thread_imports_what_python_has() -> None:
    def job() -> None:
        import colorsys
        assert callable(colorsys.rgb_to_hsv)
    _fork_while_imported("colorsys", "runs", job)


def while_an_import_fails() -> None:
    """The fork waits for the thread, and says nothing of what went wrong there."""
    def job() -> None:
        with suppress(ImportError):
            import colorsys  # noqa: F401
        work()
    begun = threading.Event()

    def fail() -> None:
        begun.set()
        time.sleep(0.5)
        raise ImportError("this module can not be imported")
    _Import("colorsys", "runs", fail)
    thread = threading.Thread(target=job)
    thread.start()
    assert begun.wait(20)
    wait(fork(job), 20)
    thread.join()


def in_the_midst_of_an_import() -> None:
    """A thread that forks while it imports does not wait for those that may wait for it."""
    thread = threading.Thread(target=_normalize)
    begun = threading.Event()

    def waits_for_the_forking_thread() -> None:
        begun.set()
        _visualize()

    def forks() -> None:
        thread.start()
        assert begun.wait(20)
        wait(fork(work), 20)
    _Import(LRN, "runs", waits_for_the_forking_thread)
    _Import("ndarray_rt.visualization", "runs", forks)
    mx.viz  # noqa: B018
    thread.join()
    work()


def while_another_asks_first() -> None:
    """What only the first to ask finds out; one process for each try."""
    for asked in ASKED:
        for _ in range(4):
            subprocess.run([sys.executable, __file__, "_another_asks_first", asked], check=True)


def describe() -> None:
    """A layout by its letters, and then another one."""
    for channels in (16, 32):
        blocked_desc(FLOAT32, (1, channels, 3, 3), 16)


ASKED: dict[str, Callable[[], object]] = {
    "engine": lib.ndrt_engine_isa, "letters": describe, "caches": shared_cache_bytes,
    "machine": this_machine}
# Python imports it when it is first asked for
RARE_CODEC = "encodings.ascii"


def _another_asks_first() -> None:
    assert RARE_CODEC not in sys.modules
    job = ASKED[sys.argv[2]]
    asks = threading.Thread(target=job)
    asks.start()
    wait(fork(job), 20)
    asks.join()
    assert RARE_CODEC not in sys.modules, "its lock may be held when another thread forks"


globals()[sys.argv[1]]()
print("done")
