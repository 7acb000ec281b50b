"""_numpy_function: a function of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


class Named:
    """A function that shows itself by its name, the same in each process."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *arrays: Array) -> Any:
        return self.function(*arrays)

    def __repr__(self) -> str:
        return str(self.function.__name__)


@Named
def both(x: Array, y: Array) -> tuple[Array, Array]:
    """A product, and a sum along the last axis."""
    return x * y, (x + y).sum(-1, dtype=x.dtype)


CASES = [
    Case("_numpy_function",
         {"num_args": 2, "function": both, "takes": ((shape, dtype), (shape, dtype)),
          "gives": ((shape, dtype), (shape[:-1], dtype))},
         [Input(shape), Input(shape)], reference=both, dtypes=(dtype,), native=False,
         exempt={"executor": "no text stands for a function"})
    for shape in ((2, 3), (2, 20, 3, 3)) for dtype in ("float32", "float64")
]


@Named
def one(x: Array) -> tuple[Array]:
    return (np.sort(x, -1),)


_FACTS = (((3, 5), "float32"),)
CASES.append(Case("_numpy_function",
                  {"num_args": 1, "function": one, "takes": _FACTS, "gives": _FACTS},
                  [Input((3, 5))], reference=lambda x: np.sort(x, -1), dtypes=("float32",),
                  native=False, exempt={"executor": "no text stands for a function"}))
