"""Threads that make batches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from ...io.daemon_threads import DaemonThreads
from .errors import BatchTimeout


class ThreadWorkers(DaemonThreads):
    """`count` threads that call `make` with lists of indices, in the order of `submit`."""

    def __init__(self, count: int, make: Callable[[Any], Any]) -> None:
        super().__init__(count, make)
        self.is_broken = False

    def result(self, ticket: Future[Any], timeout: float) -> Any:
        """The batch, or the exception of who made it; BatchTimeout after so many seconds."""
        if not wait([ticket], timeout).done:
            raise BatchTimeout(f"no batch within {timeout} seconds")
        return ticket.result()

    def discard(self, ticket: Future[Any]) -> None:
        """Says that nobody will ask for this batch."""
        ticket.cancel()
