"""Operators that change layouts: values stay."""

from __future__ import annotations

from ndarray_rt.testing.case import Case

CASES = [
    Case(name, params, [shape], reference=lambda x: x + 0, native=True, exact=True,
         dtypes=("float32", "float64", "int32"), gradients=lambda x, dy: dy)
    for name, params in (("_contrib_to_mkldnn", {}), ("_contrib_to_mkldnn", {"layout": "aBcd16b"}),
                         ("_contrib_to_dense", {}))
    for shape in ((2, 20, 3, 3), (2, 3)) if len(shape) == 4 or not params
]
