"""Concat."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Case, Native


def case(shapes: list[tuple[int, ...]], axis: int, native: Native = True,
         dtypes: tuple[str, ...] = ("float32", "float64"), op: str = "Concat") -> Case:
    return Case(op, {"num_args": len(shapes), "dim": axis}, shapes, native=native,
                native_backward=native, dtypes=dtypes,
                reference=lambda *arrays: np.concatenate(arrays, axis))


CASES = [
    case([(2, 3), (2, 1)], 1, dtypes=("float32", "float64", "float16", "int32", "uint8", "int64")),
    case([(2, 3), (4, 3), (1, 3)], 0), case([(2, 3), (2, 3)], -1), case([(3,), (2,), (4,)], 0),
    case([(2, 3)], 0), case([(2, 20, 3, 2), (2, 12, 3, 2)], 1),
    case([(1, 20, 2, 3), (1, 3, 2, 3), (1, 9, 2, 3)], 1), case([(1, 16, 2, 2), (1, 32, 2, 2)], 1),
    case([(2, 20, 3, 2), (1, 20, 3, 2)], 0), case([(2, 5, 3, 2), (2, 5, 1, 2)], 2),
    case([(2, 5, 3, 2), (2, 5, 3, 4)], -1), case([(2, 5, 3), (2, 20, 3)], 1),
    case([(1, 3, 2, 2, 2), (1, 5, 2, 2, 2)], 1), case([(2, 1)] * 6, 1),
    case([(0, 3), (2, 3)], 0, native=False), case([(2, 0), (2, 0)], 1, native=False),
    case([(6,), (4,), (3,)], 0, op="_rnn_param_concat"),
]
