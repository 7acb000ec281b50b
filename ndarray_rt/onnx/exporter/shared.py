"""What all graphs of one model share: names, constants, free sizes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..graph import Array
from .dims import Given, Trials

# initialisers up to here are shared where they are equal
_SHARED_BYTES = 1 << 16


class Shared:
    """`given` are shapes of the model's inputs by name, `trials` the sizes that were tried for
    their free sizes; `taken` are names that are not to be given again."""

    def __init__(self, opset: int, given: Mapping[str, Given], trials: Trials,
                 taken: Iterable[str]) -> None:
        self.opset = opset
        self.given = given
        self.trials = trials
        self.initialisers: dict[str, Array] = {}
        # tensors of free sizes, by what they are made of
        self.sizes: dict[str, str] = {}
        self._taken = set(taken)
        self._equal: dict[Any, str] = {}

    def name(self, hint: str) -> str:
        """A name that nothing else has."""
        made, number = hint, 0
        while made in self._taken:
            number += 1
            made = f"{hint}_{number}"
        self._taken.add(made)
        return made

    def initialiser(self, value: Any, hint: str) -> str:
        """A constant; small ones that are equal are one."""
        made = np.asarray(value)
        key: Any = None
        if made.nbytes <= _SHARED_BYTES:
            key = made.shape, made.dtype.str, hashlib.sha256(made.tobytes()).digest()
            if key in self._equal:
                return self._equal[key]
        name = self.name(hint)
        self.initialisers[name] = made
        if key is not None:
            self._equal[key] = name
        return name

    def keep(self, wanted: set[str]) -> None:
        """Forgets the constants that nothing reads."""
        self.initialisers = {name: value for name, value in self.initialisers.items()
                             if name in wanted}
