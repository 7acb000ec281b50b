"""Samplers: in which order samples are taken, and which of them make a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import ParameterError, shown
from ...public import shows

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]
__dir__ = shows(globals())

LAST_BATCH = ("keep", "discard", "rollover")


class Sampler:
    """What gives indices of samples; subclasses define `__iter__` and `__len__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__")


class SequentialSampler(Sampler):
    """`length` indices in order, from `start` on."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[Any]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """The indices below `length`, each once, shuffled anew each time by `numpy.random`."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[Any]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of those samples of a dataset for which `fn` is true, asked once for each."""

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler.

    `last_batch` says what becomes of fewer indices at the end: 'keep' gives a shorter list,
    'discard' leaves them out, 'rollover' begins the next time with them. Raises ParameterError for
    another word, or for a batch size below 1.

    >>> list(BatchSampler(SequentialSampler(5), 2, "keep"))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, last_batch: str = "keep") -> None:
        if last_batch not in LAST_BATCH:
            raise ParameterError("last_batch must be one of 'keep', 'discard', or 'rollover', but "
                                 f"got {last_batch}")
        if not batch_size >= 1:
            raise ParameterError(f"BatchSampler: batch_size is {shown(batch_size)}, expected 1 or "
                                 "more")
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._left: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._left = self._left, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._left = batch

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        return (count + len(self._left)) // self._batch_size
