"""A sampler that takes each k-th sample."""

from __future__ import annotations

from collections.abc import Iterator

from ....public import shows
from ...data.sampler import Sampler
from ...errors import Mismatch

__all__ = ["IntervalSampler"]
__dir__ = shows(globals())


class IntervalSampler(Sampler):
    """Each `interval`-th index below `length`; then, with `rollover`, those behind them, too.

    Mismatch for an interval below 1 or beyond `length`.

    >>> list(IntervalSampler(7, 3))
    [0, 3, 6, 1, 4, 2, 5]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if not 1 <= interval <= length:
            raise Mismatch(f"IntervalSampler: Interval {interval} must be smaller than or equal to "
                           f"length {length}, and at least 1")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for first in range(self._interval if self._rollover else 1):
            yield from range(first, self._length, self._interval)

    def __len__(self) -> int:
        if self._rollover:
            return self._length
        return -(-self._length // self._interval)
