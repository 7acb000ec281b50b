"""The random numbers of the loops, for whoever must draw the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterator


def channel_pairs() -> Iterator[tuple[int, int]]:
    """Input and output channels, without end."""
    rng = random.Random(8)
    while True:
        yield rng.randint(1, 256), rng.randint(1, 256)
