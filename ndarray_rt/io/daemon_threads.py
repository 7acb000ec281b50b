"""Threads that work for an iterator and do not keep the process from ending."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ..np_shape import is_np_shape, np_shape


class DaemonThreads:
    """`count` threads that call `work` with what is submitted, in that order.

    They are daemons: work that is being done does not keep the process from ending, as it would
    with the executors of concurrent.futures.
    """

    def __init__(self, count: int, work: Callable[[Any], Any]) -> None:
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._count = count
        for _ in range(count):
            threading.Thread(target=_run, args=(self._tasks, work, is_np_shape()),
                             daemon=True).start()

    def submit(self, task: Any) -> Future[Any]:
        """Begins a task."""
        ticket: Future[Any] = Future()
        self._tasks.put((ticket, task))
        return ticket

    def close(self) -> None:
        """Ends the threads, each after the task that it is at."""
        for _ in range(self._count):
            self._tasks.put(None)


def _run(tasks: queue.SimpleQueue[Any], work: Callable[[Any], Any], zero_is_real: bool) -> None:
    with np_shape(zero_is_real):
        while (found := tasks.get()) is not None:
            ticket, task = found
            if not ticket.set_running_or_notify_cancel():
                continue
            try:
                ticket.set_result(work(task))
            except BaseException as error:  # it belongs to the thread that asks for the result
                ticket.set_exception(error)
            del found, ticket, task  # a thread that waits keeps no batch alive
