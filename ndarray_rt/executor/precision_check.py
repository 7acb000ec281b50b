"""The difference between an executor's outputs for inference and strict float32."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..precision import Precision
from .executor import Executor


class OutputError(NamedTuple):
    """One output: the largest finite magnitude of the strict run, the largest difference from it,
    and whether the same elements are non-finite in both."""

    name: str
    largest: float
    difference: float
    is_finite_alike: bool

    @property
    def relative(self) -> float:
        """The largest difference relative to the largest magnitude; 0 if both are 0."""
        return self.difference / self.largest if self.difference else 0.0


def compare_with_strict(executor: Executor) -> list[OutputError]:
    """`Executor.check_precision`."""
    strict = Executor(executor.symbol, executor.context, dict(executor.arg_dict), {}, {},
                      dict(executor.aux_dict), precision=Precision.STRICT,
                      random=executor._runs.context.random)
    drawn = strict._runs.context.random.get_state()
    got = [y.copy() for y in executor.forward()]
    strict._runs.context.random.set_state(drawn)
    found = []
    for name, y, other in zip(executor.symbol.list_outputs(), got, strict.forward(), strict=True):
        a, b = (x.astype("float64").asnumpy() for x in (other, y))
        finite = np.isfinite(a) & np.isfinite(b)
        found.append(OutputError(
            name, float(np.abs(a[finite]).max(initial=0)),
            float(np.abs(a - b)[finite].max(initial=0)),
            bool(np.array_equal(a[~finite], b[~finite], equal_nan=True))))
    return found
