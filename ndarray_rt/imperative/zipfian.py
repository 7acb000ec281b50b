"""nd.contrib.rand_zipfian: candidates for a sampled softmax, small classes more often."""

from __future__ import annotations

import math
from typing import Any

from .._array.ndarray import NDArray
from ..context import Context, current_context
from ..errors import TypeMismatch, shown
from ..op.zipfian import check_counts
from .invoke import invoke


def rand_zipfian(true_classes: NDArray, num_sampled: int, range_max: int,
                 ctx: Context | None = None) -> list[NDArray]:
    """`num_sampled` classes of [0, range_max) with replacement, and how often each is expected.

    Class c comes with probability log((c + 2) / (c + 1)) / log(range_max + 1). Gives the classes
    (int64), the expected numbers of the true classes and those of the drawn ones (float64). Raises
    ParameterError for numbers that are no ints above 0. Source: MXNet's nd.contrib.rand_zipfian.
    """
    if not isinstance(true_classes, NDArray):
        raise TypeMismatch(f"rand_zipfian: true_classes got {shown(true_classes)}, expected an "
                           "NDArray")
    check_counts(num_sampled, range_max)
    ctx = ctx or current_context()
    span = math.log(range_max + 1)
    drawn = invoke("_random_uniform", [], {"low": 0.0, "high": span, "shape": (num_sampled,),
                                           "dtype": "float64", "ctx": ctx})
    classes = invoke("expm1", [drawn], {}).astype("int64") % range_max

    def expected(numbers: NDArray) -> Any:
        wide = numbers.as_in_context(ctx).astype("float64")
        return invoke("log", [(wide + 2.0) / (wide + 1.0)], {}) * (num_sampled / span)
    return [classes, expected(true_classes), expected(classes)]


FUNCTIONS = {"rand_zipfian": rand_zipfian}
