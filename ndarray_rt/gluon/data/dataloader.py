"""DataLoader: batches of a dataset, made here or by worker threads and processes."""

from __future__ import annotations

import functools
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler as ForkingPickler  # others import it from here
from typing import Any

from ...context import cpu_pinned
from ...errors import ParameterError, TypeMismatch, shown
from ...public import shows
from .batchify import as_in_context, default_batchify_fn, default_mp_batchify_fn
from .errors import BatchTimeout
from .pool_iter import MultiWorkerIter
from .process_workers import ProcessWorkers
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .thread_workers import ThreadWorkers

__all__ = ["DataLoader", "DataLoaderV1", "default_batchify_fn", "default_mp_batchify_fn"]
__dir__ = shows(globals())

# packages that derive loaders import these by the underscored names
_as_in_context = as_in_context
_MultiWorkerIter = MultiWorkerIter


class _WrongTimeout(ParameterError, AssertionError):
    """MXNet asserts this."""


class DataLoader:
    """Batches of a dataset; each `iter()` goes through it once.

    Parameters
    ----------
    dataset : object with `len()` and `[]`
    batch_size : int
    shuffle : bool
        Takes samples in another order each time.
    sampler : Sampler
        Gives the indices of samples, instead of `shuffle`.
    last_batch : {'keep', 'discard', 'rollover'}
        What becomes of fewer samples than a batch needs (BatchSampler); None is 'keep'.
    batch_sampler : Sampler
        Gives the lists of indices, instead of the four before.
    batchify_fn : callable
        Makes a batch of a list of samples; default_batchify_fn stacks them.
    num_workers : int
        So many processes (or threads) make batches ahead; 0: each is made when it is asked for.
        Processes are forked here. Each computes with one thread and has random seeds of its own.
    pin_memory, pin_device_id : bool, int
        Arrays are on the context cpu_pinned(pin_device_id): the same memory, another name.
    prefetch : int
        How many batches are made ahead; None: twice as many as workers.
    thread_pool : bool
        Threads instead of processes.
    timeout : float
        Seconds to wait for one batch; multiprocessing.TimeoutError then.
    auto_reload : bool
        Begins the next epoch's batches when one is over.

    An exception in a worker is raised where its batch is asked for; for a process its cause shows
    the traceback there. Raises MXNetError when a worker process was ended from outside,
    ParameterError for arguments that contradict each other.
    """

    def __init__(self, dataset: Any, batch_size: int | None = None, shuffle: bool = False,
                 sampler: Any = None, last_batch: str | None = None, batch_sampler: Any = None,
                 batchify_fn: Callable[[Any], Any] | None = None, num_workers: int = 0,
                 pin_memory: bool = False, pin_device_id: int = 0, prefetch: int | None = None,
                 thread_pool: bool = False, timeout: float = 120,
                 auto_reload: bool = False) -> None:
        if not hasattr(dataset, "__getitem__"):
            raise TypeMismatch(f"DataLoader: dataset is {shown(dataset)}, expected an object with "
                               "len() and []")
        if not timeout > 0:
            raise _WrongTimeout(f"timeout must be positive, given {timeout}")
        self._dataset = dataset
        self._pinned = cpu_pinned(pin_device_id) if pin_memory else None
        self._timeout = timeout
        self._batch_sampler = _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch,
                                             batch_sampler)
        self._num_workers = max(0, num_workers)
        self._prefetch = 2 * self._num_workers if prefetch is None else max(0, int(prefetch))
        if batchify_fn is None:
            batchify_fn = default_mp_batchify_fn if num_workers > 0 else default_batchify_fn
        self._make = functools.partial(_make_batch, dataset, batchify_fn)
        self._kind = ThreadWorkers if thread_pool else ProcessWorkers
        self._workers: Any = None
        self._iter: Iterator[Any] | None = None
        if self._num_workers:
            self._start_workers()
        self.auto_reload = auto_reload
        if auto_reload:
            self.refresh()

    def _start_workers(self) -> None:
        self._workers = self._kind(self._num_workers, self._make)
        self._end_workers = weakref.finalize(self, self._workers.close)

    def __iter__(self) -> Iterator[Any]:
        if self._iter is None:
            self.refresh()
        batches, self._iter = self._iter, None
        assert batches is not None
        yield from batches
        if self._iter is None and self.auto_reload:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Begins the batches of the next `iter()` now; those begun before are dropped."""
        self._iter = None
        if not self._num_workers:
            self._iter = self._made_here()
            return
        if self._workers.is_broken:
            self._end_workers.detach()
            self._start_workers()
        ahead = _Ahead(self._workers, iter(self._batch_sampler), self._prefetch, self._timeout)
        self._iter = self._made_ahead(ahead)

    def clean(self) -> None:
        """Drops the batches that were begun for the next `iter()`."""
        self._iter = None

    def _pin(self, batch: Any) -> Any:
        return batch if self._pinned is None else as_in_context(batch, self._pinned)

    def _made_here(self) -> Iterator[Any]:
        for indices in self._batch_sampler:
            yield self._pin(self._make(indices))

    def _made_ahead(self, ahead: _Ahead) -> Iterator[Any]:
        for batch in ahead:
            yield self._pin(batch)


class DataLoaderV1(DataLoader):
    """DataLoader with MXNet's older parameters."""

    def __init__(self, dataset: Any, batch_size: int | None = None, shuffle: bool = False,
                 sampler: Any = None, last_batch: str | None = None, batch_sampler: Any = None,
                 batchify_fn: Callable[[Any], Any] | None = None, num_workers: int = 0,
                 pin_memory: bool = False, pin_device_id: int = 0) -> None:
        super().__init__(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler,
                         batchify_fn, num_workers, pin_memory, pin_device_id)


def _make_batch(dataset: Any, batchify_fn: Callable[[Any], Any], indices: Any) -> Any:
    return batchify_fn([dataset[index] for index in indices])


def _batch_sampler(dataset: Any, batch_size: int | None, shuffle: bool, sampler: Any,
                   last_batch: str | None, batch_sampler: Any) -> Any:
    """What gives lists of indices, after looking for arguments that contradict each other."""
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ParameterError("batch_size, shuffle, sampler and last_batch must not be "
                                 "specified if batch_sampler is specified.")
        return batch_sampler
    if batch_size is None:
        raise ParameterError("batch_size must be specified unless batch_sampler is specified")
    if sampler is None:
        sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
    elif shuffle:
        raise ParameterError("shuffle must not be specified if sampler is specified")
    return BatchSampler(sampler, batch_size, last_batch or "keep")


class _Ahead:
    """Batches that workers make, `prefetch` of them begun before they are asked for."""

    def __init__(self, workers: Any, batches: Iterator[Any], prefetch: int,
                 timeout: float) -> None:
        self._workers = workers
        self._batches = batches
        self._timeout = timeout
        self._begun: deque[Any] = deque()
        for _ in range(prefetch):
            self._begin()

    def _begin(self) -> None:
        for indices in self._batches:
            self._begun.append(self._workers.submit(indices))
            return

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._begin()
        if not self._begun:
            raise StopIteration
        ticket = self._begun.popleft()
        try:
            return self._workers.result(ticket, self._timeout)
        except BatchTimeout:
            self._workers.discard(ticket)
            raise BatchTimeout(
                f"DataLoader: a worker timed out after {self._timeout} seconds. Where making a "
                "batch takes that long, give a larger timeout") from None

    def __del__(self) -> None:
        for ticket in self._begun:
            self._workers.discard(ticket)
