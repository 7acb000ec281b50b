"""All combinations of some choices, each to be had by its number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .case import Case

Choice = dict[str, Any]


@dataclass(frozen=True)
class Space:
    """`build` makes a case of one combination, or None where there is none; what it chooses beside
    that it draws from a generator seeded by the combination's number."""

    name: str
    axes: dict[str, Sequence[Any]]
    build: Callable[[Choice, np.random.Generator], Case | None]

    def __len__(self) -> int:
        return prod(map(len, self.axes.values()))

    def case(self, number: int) -> Case | None:
        chosen, rest = {}, number
        for name, values in self.axes.items():
            rest, at = divmod(rest, len(values))
            chosen[name] = values[at]
        return self.build(chosen, np.random.default_rng([len(self), number]))
