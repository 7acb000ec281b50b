"""rand_zipfian over `F`: the one body of nd.contrib's and sym.contrib's function."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any

from ..errors import ParameterError, TypeMismatch, shown


def rand_zipfian(F: Callable[..., Any], kind: type,  # noqa: N803 - as in hybrid_forward
                 true_classes: Any, num_sampled: int, range_max: int, **where: Any) -> list[Any]:
    """Draws classes of [0, range_max); see imperative/zipfian.py.

    `F(operator, *inputs, **parameters)` calls an operator on inputs of `kind`; `where` are
    parameters of the operator that draws. TypeMismatch if true_classes are not of `kind`,
    ParameterError unless the numbers of samples and of classes are ints above 0.
    """
    if not isinstance(true_classes, kind):
        article = "an" if kind.__name__[0] in "AEINOU" else "a"
        raise TypeMismatch(f"rand_zipfian: true_classes got {shown(true_classes)}, expected "
                           f"{article} {kind.__name__}")
    for name, value in (("num_sampled", num_sampled), ("range_max", range_max)):
        if not isinstance(value, Integral) or value < 1:
            raise ParameterError(f"rand_zipfian: {name} got {shown(value)}, expected an int "
                                 "above 0")
    span = math.log(range_max + 1)
    drawn = F("_random_uniform", low=0.0, high=span, shape=(num_sampled,), dtype="float64", **where)
    classes = F("cast", F("expm1", drawn), dtype="int64") % range_max

    def expected(numbers: Any) -> Any:
        wide = F("cast", numbers, dtype="float64")
        return F("log", (wide + 2.0) / (wide + 1.0)) * (num_sampled / span)
    return [classes, expected(true_classes), expected(classes)]
