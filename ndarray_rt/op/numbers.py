"""Parameters of an operator that its kernels take as arguments at each run.

A recorded call is replayed with other numbers, so that a number that changes from call to call
needs neither a new primitive nor a new recording.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Domain(NamedTuple):
    """The numbers that one recorded call can be replayed with; others need their own recording.

    Magnitudes from `least` to `most`; `zero` and `nan` say whether those two are included, `apart`
    are numbers with a special meaning, which are not. Values that the parameter does not allow are
    in no domain.
    """

    least: float = 0.0
    most: float = math.inf
    zero: bool = True
    nan: bool = True
    apart: tuple[float, ...] = ()


ALL_NUMBERS = Domain()


class Tagged(float):
    """A number that a replay may replace; `place` is its position in `OpDef.numbers`.

    The parameters of a call being recorded contain such numbers. If a kernel is given one, the
    recording knows which; the result of any arithmetic on one is an ordinary float.
    """

    __slots__ = ("place",)

    place: int

    @classmethod
    def of(cls, value: float, place: int) -> Tagged:
        made = cls(value)
        made.place = place
        return made
