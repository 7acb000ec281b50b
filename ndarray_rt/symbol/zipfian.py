"""sym.contrib.rand_zipfian: candidates for a sampled softmax, small classes more often."""

from __future__ import annotations

import math
from typing import Any

from ..errors import TypeMismatch, shown
from ..op.zipfian import check_counts
from .create import call
from .symbol import Symbol


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> list[Any]:
    """`num_sampled` classes of [0, range_max) with replacement, and how often each is expected.

    As nd.contrib.rand_zipfian. Source: MXNet's sym.contrib.rand_zipfian.
    """
    if not isinstance(true_classes, Symbol):
        raise TypeMismatch(f"rand_zipfian: true_classes got {shown(true_classes)}, expected a "
                           "Symbol")
    check_counts(num_sampled, range_max)
    span = math.log(range_max + 1)
    drawn = call("_random_uniform", low=0.0, high=span, shape=(num_sampled,), dtype="float64")
    classes = call("cast", call("expm1", drawn), dtype="int64") % range_max

    def expected(numbers: Symbol) -> Any:
        wide = call("cast", numbers, dtype="float64")
        return call("log", (wide + 2.0) / (wide + 1.0)) * (num_sampled / span)
    return [classes, expected(true_classes), expected(classes)]


FUNCTIONS = {"rand_zipfian": rand_zipfian}
