"""How a value becomes part of a key: the one place that decides which values are the same.

Python finds 0.0 equal to -0.0, NaN different from itself, and 1, 1.0 and True equal. A cache may
take none of these for granted: 1 / 0.0 is not 1 / -0.0, and what is kept under NaN is never found
again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


class _Mark:
    """Stands in keys for floats that can not stand for themselves."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


NEGATIVE_ZERO = _Mark("-0.0")
NAN = _Mark("nan")  # of every sign and payload: no operator tells them apart
NUMBER = _Mark("number")  # any of those that one recorded call serves


def float_key(value: float) -> Hashable:
    """What stands for a float in a key: itself, but for -0.0 and NaN."""
    if value:
        return value if value == value else NAN
    # of the two zeros only the negative one is written with a sign
    return NEGATIVE_ZERO if str(value)[0] == "-" else value


def value_key(value: Any) -> Any:
    """What stands for a value in a key beside others of its type.

    Tuples are gone through; a tuple without -0.0 and NaN is its own key.
    """
    if isinstance(value, float):
        return float_key(value)
    if isinstance(value, tuple):
        return values_key(value)
    return value


def values_key(values: Iterable[Any]) -> tuple[Any, ...]:
    """`value_key` of each."""
    return tuple([value_key(value) for value in values])


def same_value(a: Any, b: Any) -> bool:
    """Two values of one type are the same, to the sign of a zero; NaN is the same as itself."""
    return bool(value_key(a) == value_key(b))
