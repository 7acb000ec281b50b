"""_quantized: whole numbers and back, one element after the other."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


def case(shape: tuple[int, ...], axis: int | None, low: int = 0, high: int = 255) -> Case:
    """Powers of two, by which both ways divide without rounding, and values that lie on no
    middle between whole numbers."""
    n = 1 if axis is None else shape[axis]
    scale = 2.0 ** -np.arange(1, n + 1).clip(1, 4)
    zero = np.arange(n) % 7 + low + 3
    x = np.random.default_rng(1).integers(-4000, 4000, shape) / 64 + 1 / 128

    def reference(data: Array, factors: Array, zeros: Array) -> Array:
        y = np.empty(data.shape)
        for place in np.ndindex(data.shape):
            i = 0 if axis is None else place[axis]
            whole = round(float(data[place]) / float(factors[i])) + zeros[i]
            y[place] = (min(max(whole, low), high) - zeros[i]) * factors[i]
        return y
    where = {} if axis is None else {"axis": axis}
    return Case("_quantized", {"low": low, "high": high, **where},
                [Input(shape, values=x), Input((n,), values=scale), Input((n,), values=zero)],
                reference=reference, native=True)


CASES = [
    case((2, 20, 3, 3), None),
    case((2, 20, 3, 3), 1, -128, 127),
    case((2, 3, 4, 5), 3),
    case((2, 5, 6), -2),
    case((7,), 0),
]
