"""A sampler that takes indices at intervals. Source: MXNet's `gluon.contrib.data.sampler`."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import ParameterError
from ....public import shows
from ...data.sampler import Sampler

__all__ = ["IntervalSampler"]
__dir__ = shows(globals())


class IntervalTooLong(ParameterError, AssertionError):
    """An interval that is longer than what is sampled."""


class IntervalSampler(Sampler):
    """Indices 0, interval, 2 interval, ... below `length`.

    With `rollover` it goes on with 1, 1 + interval, ... until each index was taken once. Its length
    is `length` in any case, as in MXNet. ParameterError for an interval above the length.

    >>> list(IntervalSampler(7, 3))
    [0, 3, 6, 1, 4, 2, 5]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if interval > length:
            raise IntervalTooLong(f"IntervalSampler: interval is {interval}, expected at most the "
                                  f"length, {length}")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for first in range(self._interval if self._rollover else 1):
            yield from range(first, self._length, self._interval)

    def __len__(self) -> int:
        return self._length
