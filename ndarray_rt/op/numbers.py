"""Numbers among an operator's parameters that its kernels take as arguments.

A recorded call is done again with other numbers, so that a number that changes from call to call
makes neither a primitive nor a recording.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Domain(NamedTuple):
    """Numbers that one recorded call serves; calls with others are told apart by them.

    Sizes go from `least` to `most`, `zero` and `nan` say whether these two belong to them, and
    `apart` are those that mean something of their own. What a parameter does not allow at all is in
    no domain.
    """

    least: float = 0.0
    most: float = math.inf
    zero: bool = True
    nan: bool = True
    apart: tuple[float, ...] = ()


ALL_NUMBERS = Domain()


class Tagged(float):
    """A number that a recording may change; `place` is its place in `OpDef.numbers`.

    The call that is recorded has such numbers among its parameters. Which numbers its kernels are
    given as they are, the recording sees; what is computed from one is an ordinary float.
    """

    __slots__ = ("place",)

    place: int

    @classmethod
    def of(cls, value: float, place: int) -> Tagged:
        made = cls(value)
        made.place = place
        return made
