"""SliceChannel."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Native


def case(shape: tuple[int, ...], count: int, axis: int = 1, squeeze: bool = False,
         native: Native = True, dtypes: tuple[str, ...] = ("float32", "float64")) -> Case:
    def reference(x: Array) -> tuple[Array, ...]:
        parts = np.split(x, count, axis)
        return tuple(part.squeeze(axis) if squeeze else part for part in parts)
    return Case("SliceChannel", {"num_outputs": count, "axis": axis, "squeeze_axis": squeeze},
                [shape], reference=reference, native=native, dtypes=dtypes)


CASES = [
    case((2, 6), 3, dtypes=("float32", "float64", "float16", "int32", "uint8", "int64")),
    case((4, 3), 2, axis=0), case((4,), 2, axis=0), case((2, 3), 1), case((2, 3), 3, squeeze=True),
    case((2, 3), 2, axis=0, squeeze=True), case((3,), 3, axis=0, squeeze=True, native=False),
    case((2, 20, 3, 2), 2), case((2, 20, 3, 2), 4), case((1, 32, 2, 2), 2), case((2, 20, 3, 2), 20),
    case((2, 3, 4, 2), 2, axis=2), case((2, 3, 4, 2), 2, axis=-1), case((2, 3, 4, 2), 2, axis=0),
    case((2, 3, 4, 2), 3, squeeze=True), case((2, 3, 4, 2), 2, axis=-1, squeeze=True),
    case((2, 3, 4, 2), 2, axis=0, squeeze=True), case((2, 6, 5), 3),
    case((0, 4), 2, native=False), case((2, 0), 2, native=False),
]
