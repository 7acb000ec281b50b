"""Processes that make batches, and the way of a batch from there: memory without a name.

A batch is pickled; the bytes of its arrays are not, but written to a file in memory (memfd_create)
whose descriptor is sent through a socket. Such a file has no name and is gone with its last
descriptor, whichever way the processes end.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing as mp
import os
import pickle
import queue
import random
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import connection, reduction
from typing import Any, NoReturn

import numpy as np

from ...errors import MXNetError
from .errors import BatchTimeout, RemoteTraceback

BATCH, ERROR = 0, 1
ALIGNED = 64  # arrays in a batch's memory begin at multiples of it


class ProcessWorkers:
    """`count` processes that call `make` with lists of indices, by turns in the order of `submit`.

    They are forked, and so `make` need not be picklable, unless the program has chosen another
    start method. One thread at a time may use this object. Random streams of the workers are
    seeded from the state of `numpy.random`, which stays as it is, each with another number.
    """

    def __init__(self, count: int, make: Callable[[Any], Any]) -> None:
        context = mp.get_context(mp.get_start_method(allow_none=True) or "fork")
        self._owner = os.getpid()
        self._next = 0
        self._wanted: set[int] = set()
        self._arrived: dict[int, tuple[int, bytes, list[int], int | None]] = {}
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
        self.is_broken = False
        seeds = np.random.RandomState()
        seeds.set_state(np.random.get_state())
        try:
            for seed in seeds.randint(0, 2**31 - count, size=1) + np.arange(count):
                ours, theirs = context.Pipe(duplex=True)
                self._pipes.append(ours)
                forked = tuple(self._pipes) if context.get_start_method() == "fork" else ()
                process = context.Process(target=_work, daemon=True,  # type: ignore[attr-defined]
                                          args=(theirs, forked, make, int(seed)))
                self._processes.append(process)
                _start(process)
                theirs.close()
        except BaseException:
            self.close()
            raise

    def submit(self, indices: Any) -> int:
        """Begins a batch."""
        self._check()
        ticket = self._next
        self._next += 1
        try:
            self._pipes[ticket % len(self._pipes)].send((ticket, indices))
        except OSError:
            self._broken(ticket % len(self._pipes))
        self._wanted.add(ticket)
        return ticket

    def result(self, ticket: int, timeout: float) -> Any:
        """The batch, or the exception of who made it.

        Raises BatchTimeout after so many seconds, MXNetError when a worker has ended.
        """
        end = time.monotonic() + timeout
        while ticket not in self._arrived:
            self._check()
            ready = connection.wait(self._pipes, max(0.0, end - time.monotonic()))
            if not ready:
                raise BatchTimeout(f"no batch within {timeout} seconds")
            for pipe in ready:
                self._receive(self._pipes.index(pipe))
        self._wanted.discard(ticket)
        kind, payload, lengths, file = self._arrived.pop(ticket)
        if kind == BATCH:
            return _unpacked(payload, lengths, file)
        error, text = pickle.loads(payload)
        if error is None:
            raise MXNetError(f"DataLoader: a worker raised an exception that can not be pickled:\n"
                             f"{text}")
        raise error from RemoteTraceback(text)

    def discard(self, ticket: int) -> None:
        """Says that nobody will ask for this batch."""
        self._wanted.discard(ticket)
        found = self._arrived.pop(ticket, None)
        if found is not None and found[3] is not None:
            os.close(found[3])

    def close(self) -> None:
        """Ends the processes at once. In a forked child, where they are not, does nothing."""
        if os.getpid() != self._owner:
            return
        for process in self._processes:
            if process.pid is not None:
                process.terminate()
        for process in self._processes:
            if process.pid is not None:
                process.join(1)
                if process.is_alive():
                    process.kill()
                    process.join()
        for pipe in self._pipes:
            pipe.close()
        for ticket in list(self._arrived):
            self.discard(ticket)
        self._processes.clear()
        self._pipes.clear()
        self.is_broken = True

    def _receive(self, worker: int) -> None:
        """One batch from a worker that has sent something."""
        pipe = self._pipes[worker]
        try:
            ticket, kind, lengths, has_file = pipe.recv()
            payload = pipe.recv_bytes()
            file = reduction.recv_handle(pipe) if has_file else None
        except (EOFError, OSError, RuntimeError):  # the last one: a message without its file
            self._broken(worker)
        except BaseException:  # Ctrl-C in the midst of a message, whose rest nobody understands
            self.close()
            raise
        self._arrived[ticket] = kind, payload, lengths, file
        if ticket not in self._wanted:
            self.discard(ticket)

    def _check(self) -> None:
        if os.getpid() != self._owner:
            raise MXNetError("DataLoader: its worker processes belong to the process that made it; "
                             "make another one in the forked child")
        if self.is_broken:
            raise MXNetError("DataLoader: the worker processes have ended; iterate anew")

    def _broken(self, worker: int) -> NoReturn:
        process = self._processes[worker]
        process.join(1)
        how = (f"was ended by signal {-process.exitcode}" if (process.exitcode or 0) < 0
               else f"ended with status {process.exitcode}")
        pid = process.pid
        self.close()
        raise MXNetError(f"DataLoader: worker process {pid} {how} before it had made its batches")


def _start(process: Any) -> None:
    """Starts a worker that does not hear Ctrl-C, not even in its first moments."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with warnings.catch_warnings():
            # threads of this package are ready for fork (docs/threads.md)
            warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
            process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unpacked(payload: bytes, lengths: Sequence[int], file: int | None) -> Any:
    """The batch of a message. NDArrays copy what they find; NumPy arrays keep the memory."""
    if file is None:
        return pickle.loads(payload)
    try:
        whole = memoryview(mmap.mmap(file, 0))
    finally:
        os.close(file)
    buffers, begin = [], 0
    for length in lengths:
        buffers.append(whole[begin:begin + length])
        begin += _padded(length)
    return pickle.loads(payload, buffers=buffers)


def _padded(length: int) -> int:
    return -(-length // ALIGNED) * ALIGNED


# ---- in the worker -------------------------------------------------------------------------------


def _work(pipe: Any, of_parent: Sequence[Any], make: Callable[[Any], Any], seed: int) -> None:
    """What a worker does: it makes batches until its parent closes the pipe, or ends."""
    from ... import random as ndrt_random
    from ...threads import set_num_threads

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in of_parent:
        other.close()  # while a worker holds them, the others do not see the parent's end
    set_num_threads(1)
    np.random.seed(seed)
    random.seed(seed)
    ndrt_random.seed(seed)
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    while True:
        ticket, indices = tasks.get()
        try:
            _send_batch(pipe, ticket, make(indices))
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)
        except BaseException as error:
            _send_error(pipe, ticket, error)


def _listen(pipe: Any, tasks: queue.SimpleQueue[Any]) -> None:
    """Takes tasks in, so that the parent never waits for room in the pipe; ends with the parent."""
    try:
        while True:
            tasks.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(0)


def _send_batch(pipe: Any, ticket: int, batch: Any) -> None:
    buffers: list[pickle.PickleBuffer] = []
    payload = pickle.dumps(batch, 5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    lengths = [view.nbytes for view in views]
    if not sum(lengths):
        pipe.send((ticket, BATCH, [], False))  # a file of no bytes can not be mapped
        pipe.send_bytes(pickle.dumps(batch, 5))
        return
    file = os.memfd_create("ndarray_rt batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(file, sum(_padded(length) for length in lengths))
        begin = 0
        for view in views:
            done = 0
            while done < view.nbytes:
                done += os.pwrite(file, view[done:], begin + done)
            begin += _padded(view.nbytes)
        pipe.send((ticket, BATCH, lengths, True))
        pipe.send_bytes(payload)
        reduction.send_handle(pipe, file, os.getppid())
    finally:
        os.close(file)


def _send_error(pipe: Any, ticket: int, error: BaseException) -> None:
    text = "".join(traceback.format_exception(error))
    payload = pickle.dumps((None, text))
    with contextlib.suppress(Exception):  # an exception of a class that can not be pickled
        whole = pickle.dumps((error, text))
        if isinstance(pickle.loads(whole)[0], type(error)):
            payload = whole
    try:
        pipe.send((ticket, ERROR, [], False))
        pipe.send_bytes(payload)
    except OSError:
        os._exit(0)
