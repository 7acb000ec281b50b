"""Threads that make batches."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from ...np_shape import is_np_shape, np_shape
from .errors import BatchTimeout


class ThreadWorkers:
    """`count` threads that call `make` with lists of indices, in the order of `submit`.

    They are daemons: a batch that is being made does not keep the process from ending.
    """

    def __init__(self, count: int, make: Callable[[Any], Any]) -> None:
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._count = count
        self.is_broken = False
        for _ in range(count):
            threading.Thread(target=_run, args=(self._tasks, make, is_np_shape()),
                             daemon=True).start()

    def submit(self, indices: Any) -> Future[Any]:
        """Begins a batch."""
        ticket: Future[Any] = Future()
        self._tasks.put((ticket, indices))
        return ticket

    def result(self, ticket: Future[Any], timeout: float) -> Any:
        """The batch, or the exception of who made it; BatchTimeout after so many seconds."""
        if not wait([ticket], timeout).done:
            raise BatchTimeout(f"no batch within {timeout} seconds")
        return ticket.result()

    def discard(self, ticket: Future[Any]) -> None:
        """Says that nobody will ask for this batch."""
        ticket.cancel()

    def close(self) -> None:
        """Ends the threads, each after the batch that it is making."""
        for _ in range(self._count):
            self._tasks.put(None)


def _run(tasks: queue.SimpleQueue[Any], make: Callable[[Any], Any], zero_is_real: bool) -> None:
    with np_shape(zero_is_real):
        while (task := tasks.get()) is not None:
            ticket, indices = task
            if not ticket.set_running_or_notify_cancel():
                continue
            try:
                ticket.set_result(make(indices))
            except BaseException as error:  # it belongs to the thread that asks for the batch
                ticket.set_exception(error)
            del task, ticket, indices  # a thread that waits keeps no batch alive
