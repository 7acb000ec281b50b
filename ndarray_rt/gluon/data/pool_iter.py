"""Batches that a pool of the caller's own makes ahead: for loaders that others derive."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from ...context import cpu_pinned
from .batchify import as_in_context


class MultiWorkerIter:
    """Batches in the order of `batch_sampler`, `prefetch` of them ahead; by MXNet's own names.

    A subclass may define `_push_next`, which takes the next sample numbers from `_iter`, puts what
    `_worker_pool.apply_async` gave into `_data_buffer[_sent_idx]`, and counts `_sent_idx` up. The
    pool's function gives a batch as bytes of pickle. Source: MXNet's `_MultiWorkerIter`.
    """

    def __init__(self, worker_pool: Any, batchify_fn: Any, batch_sampler: Any,
                 pin_memory: bool = False, pin_device_id: int = 0, worker_fn: Any = None,
                 prefetch: int = 0, dataset: Any = None, data_loader: Any = None,
                 timeout: float = 120) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._worker_fn = worker_fn
        self._dataset = dataset
        self._data_loader = data_loader  # lives as long as its batches are asked for
        self._timeout = timeout
        self._data_buffer: dict[int, Any] = {}
        self._sent_idx = self._rcvd_idx = 0
        self._iter = iter(batch_sampler)
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return self

    def _push_next(self) -> None:
        numbers = next(self._iter, None)
        if numbers is not None:
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(
                self._worker_fn, (numbers, self._batchify_fn, self._dataset))
            self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        batch = pickle.loads(self._data_buffer.pop(self._rcvd_idx).get(self._timeout))
        self._rcvd_idx += 1
        return as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()
