"""nd.contrib.rand_zipfian: candidates for a sampled softmax, small classes more often."""

from __future__ import annotations

from typing import Any

from .._array.ndarray import NDArray
from ..context import Context, current_context
from ..op import zipfian
from .invoke import invoke


def rand_zipfian(true_classes: NDArray, num_sampled: int, range_max: int,
                 ctx: Context | None = None) -> list[NDArray]:
    """`num_sampled` classes of [0, range_max) with replacement, and how often each is expected.

    Class c is drawn with probability log((c + 2) / (c + 1)) / log(range_max + 1). Returns the
    classes (int64), the expected counts of the true classes and those of the drawn ones (float64).
    Raises ParameterError for numbers that are not ints above 0. Source: MXNet's
    nd.contrib.rand_zipfian.
    """
    ctx = ctx or current_context()
    if isinstance(true_classes, NDArray):
        true_classes = true_classes.as_in_context(ctx)

    def call(op: str, *inputs: NDArray, **attrs: Any) -> Any:
        return invoke(op, inputs, attrs)
    return zipfian.rand_zipfian(call, NDArray, true_classes, num_sampled, range_max, ctx=ctx)


FUNCTIONS = {"rand_zipfian": rand_zipfian}
