"""Argument checks shared by rand_zipfian of arrays and of symbols."""

from __future__ import annotations

from numbers import Integral

from ..errors import ParameterError, shown


def check_counts(num_sampled: object, range_max: object) -> None:
    """ParameterError unless the numbers of samples and of classes are ints above 0."""
    for name, value in (("num_sampled", num_sampled), ("range_max", range_max)):
        if not isinstance(value, Integral) or value < 1:
            raise ParameterError(f"rand_zipfian: {name} got {shown(value)}, expected an int "
                                 "above 0")
