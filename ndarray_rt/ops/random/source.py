"""Random words by element: each element has a block of its own, and may ask for further ones.

So what one element needs says nothing about the words of the next, and what is drawn depends on
the seed alone: not on threads, and not on how often others were rejected.
"""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ...op.normal import minus_two_log, sine_cosine
from ...op.random_state import RandomState, philox, philox_blocks

MAX_BLOCKS = 1 << 14  # blocks that stay in the cache while they are made


class Source:
    """The words of one draw of `n` elements, taken off a stream at once.

    `each` of them an element; four are a block of its own, which may have further ones.
    """

    __slots__ = ("_each", "_first", "_key", "n")

    def __init__(self, random: RandomState, n: int, each: int = 4) -> None:
        self.n = n
        self._each = each
        self._key, self._first = random.reserve((n * each + 3) // 4)

    def row(self) -> AnyArray:
        """The words of all elements in one row, one more where they were odd."""
        n = self.n * self._each
        return philox(n + n % 2, self._key, self._first)

    def words(self, which: AnyArray | None = None, attempt: int = 0, stage: int = 0) -> AnyArray:
        """Four words for each of these elements (None: all), as columns.

        Each pair of `attempt` and `stage` gives words of their own.
        """
        if which is None and attempt == stage == 0:
            return philox(4 * self.n, self._key, self._first).reshape(self.n, 4)
        index = np.arange(self.n) if which is None else which
        made = np.empty((len(index), 4), np.uint32)
        for start in range(0, len(index), MAX_BLOCKS):
            part = index[start:start + MAX_BLOCKS].astype(np.uint64) + np.uint64(self._first)
            made[start:start + MAX_BLOCKS] = philox_blocks(part, self._key, attempt, stage)
        return made


def unit(high: AnyArray, low: AnyArray) -> AnyArray:
    """Two words as a double in [0, 1), a multiple of 2**-53."""
    bits = (high.astype(np.uint64) << np.uint64(21)) ^ (low >> np.uint32(11)).astype(np.uint64)
    made: AnyArray = bits * 2.0**-53
    return made


def open_unit(high: AnyArray, low: AnyArray) -> AnyArray:
    """Two words as a double in (0, 1)."""
    made: AnyArray = unit(high, low) + 2.0**-54
    return made


def normal(radius: AnyArray, angle: AnyArray) -> AnyArray:
    """Two words as a double from the standard normal distribution (Box and Muller, 1958)."""
    made: AnyArray = np.sqrt(minus_two_log(radius)) * sine_cosine(angle)[1]
    return made


def below(bits: AnyArray, count: int) -> AnyArray:
    """64 random bits as a whole number below `count`: the upper half of their product."""
    lower, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    high, low = bits >> half, bits & lower
    many, few = np.uint64(count >> 32), np.uint64(count & 0xFFFFFFFF)
    middle = high * few + (low * few >> half)
    rest = low * many + (middle & lower)
    made: AnyArray = high * many + (middle >> half) + (rest >> half)
    return made


def integers(high: AnyArray, low: AnyArray) -> AnyArray:
    """Two words as one of 64 bits."""
    made: AnyArray = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    return made
