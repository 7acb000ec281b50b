"""_identity_with_attr_like_rhs: the first of two, of the second's shape."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Case

CASES = [
    Case("_identity_with_attr_like_rhs", {}, [shape, shape], reference=lambda x, y: x + 0,
         native=native, exact=True, dtypes=("float32", "float64", "int32"),
         gradients=lambda x, y, dy: (dy, np.zeros_like(y)))
    for shape, native in (((2, 3, 4), True), ((2, 20, 3, 3), True))
]
CASES += [
    Case("_contrib_gradientmultiplier", {"scalar": factor}, [(2, 3)], reference=lambda x: x + 0,
         native=True, exact=True, gradients=lambda x, dy, factor=factor: dy * factor)
    for factor in (-0.5, 2.0)
]
