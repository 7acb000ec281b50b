"""sum, mean, max, min, prod over every choice of axes."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Kind, Native, Reference

NUMPY_OF: dict[str, Reference] = {
    "sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
# max and min are native kernels, which leave few columns to numpy; oneDNN's product goes over the
# innermost axes only; their backward has none of that
IS_NATIVE: dict[str, Native] = {"sum": True, "mean": True, "max": "auto", "min": "auto",
                                    "prod": "auto"}
ALL = None


def reference(op: str, axis: Any, keepdims: bool = False, exclude: bool = False) -> Reference:
    def compute(x: Array) -> Array:
        named = tuple(range(x.ndim)) if axis in (None, ()) else tuple(
            a % x.ndim for a in np.atleast_1d(axis))
        gone = tuple(d for d in range(x.ndim) if d not in named) if (
            exclude and axis not in (None, ())) else named
        made = NUMPY_OF[op](x, axis=gone, keepdims=keepdims)
        return np.reshape(made, np.shape(made) or (1,))
    return compute


def case(op: str, shape: tuple[int, ...], axis: Any, note: str = "", **params: Any) -> Case:
    kind: Kind = "positive" if op == "prod" else "distinct"
    return Case(op, {"axis": axis, **params}, [Input(shape, kind=kind)],
                reference=reference(op, axis, **params), native=IS_NATIVE[op],
                native_backward="auto" if op == "prod" else True, note=note)


CASES = [case(op, (2, 20, 3, 2), axes) for op in NUMPY_OF
         for n in range(1, 5) for axes in combinations(range(4), n)]
CASES += [case(op, shape, axis) for op in NUMPY_OF
          for shape, axis in (((7,), 0), ((4, 5), 0), ((4, 5), -1), ((4, 5), ALL), ((4, 5), ()),
                              ((2, 3, 4), 1), ((2, 3, 4), (2, 0)), ((2, 1, 3), 1),
                              ((2, 3, 2, 2, 3), (1, 4)), ((1, 1), ALL), ((300, 3), 0))]
SWITCHES: list[tuple[Any, dict[str, Any]]] = [
    (1, {"keepdims": True}), (ALL, {"keepdims": True}), (1, {"exclude": True}),
    ((0, 2), {"exclude": True, "keepdims": True}), ((0, 1, 2), {"exclude": True}),
    ((), {"exclude": True})]
CASES += [case(op, (2, 3, 4), axis, **params) for op in NUMPY_OF for axis, params in SWITCHES]
CASES += [case(op, (2, 16, 2, 3), (2, 3), keepdims=True) for op in NUMPY_OF]
CASES += [Case("prod", {"axis": axis}, [Input(shape, kind="positive")],
               reference=reference("prod", axis), native=True, native_backward=True,
               layouts=layouts, note="innermost")
          for shape, axis, layouts in (((3, 5), 1, ()), ((2, 20, 3, 2), (2, 3), ("aBcd16b",)),
                                       ((2, 3, 4, 5), ALL, None), ((100, 7), 1, ()))]
CASES += [case("sum", shape, axis) for shape, axis in (
    ((100, 7), 1), ((3, 300, 5), 1), ((3, 2, 4, 2, 5), (0, 2, 4)), ((2, 3, 2, 3, 2, 3), (1, 3, 4)))]
CASES += [
    Case("sum_axis", {"axis": 1}, [(2, 3)], reference=lambda x: x.sum(1), native=True),
    Case("max_axis", {"axis": 1}, [Input((2, 3), kind="distinct")],
         reference=lambda x: x.max(1), native=True, native_backward=True),
    Case("min_axis", {"axis": 1}, [Input((2, 3), kind="distinct")],
         reference=lambda x: x.min(1), native=True, native_backward=True),
]

# ties: all that are equal get the whole gradient
CASES += [
    Case(op, {"axis": 1}, [Input((2, 4), values=[1, 3, 3, 0, 2, 0, 2, 0])],
         reference=lambda x, op=op: NUMPY_OF[op](x, 1), native=True, native_backward=True,
         gradients=lambda x, dy, op=op: dy[:, None] * (x == NUMPY_OF[op](x, 1, keepdims=True)),
         note="ties")
    for op in ("max", "min")
]
SPECIAL = [[np.nan, 1, 2], [1, np.nan, 2], [-np.inf, -np.inf, -np.inf], [np.inf, 0, 1],
           [-3.4e38, -np.inf, -2]]
CASES += [
    Case(op, {"axis": 1}, [Input((5, 3), values=SPECIAL)], dtypes=("float32", "float64"),
         reference=lambda x, op=op: NUMPY_OF[op](x, 1), native="auto",
         exempt={"gradient": "differences of infinity"}, note="NaN and infinity")
    for op in ("max", "min", "sum", "mean")
]
CASES += [
    Case("prod", {"axis": 0}, [Input((3, 2), values=[0, 1, 2, 2, 3, 0.5])],
         reference=lambda x: x.prod(0), native=False, note="a zero"),
    Case("prod", {}, [Input((2, 3), values=[0, 1, 2, 2, 0, 0.5])],
         reference=lambda x: np.array([x.prod()]), native_backward=True, note="two zeros"),
    Case("prod", {"axis": 1}, [Input((2, 3, 10), low=-2, high=2)],
         reference=lambda x: x.prod(1), native_backward=True, note="columns"),
    Case("prod", {"axis": (0, 2)}, [Input((2, 3, 2), low=-2, high=2)],
         reference=lambda x: x.prod((0, 2)), note="axes apart"),
]

# whole numbers wrap around, their mean is cut towards zero
WHOLE = ("int32", "int64", "int8", "uint8")


def whole_mean(x: Array) -> Array:
    total = x.sum(1, dtype=x.dtype)
    return np.trunc(total / x.shape[1]).astype(x.dtype)


def whole(x: Array, op: str) -> Array:
    if op == "mean":
        return whole_mean(x)
    return NUMPY_OF[op](x, 1, dtype=x.dtype) if op in ("sum", "prod") else NUMPY_OF[op](x, 1)


CASES += [
    Case(op, {"axis": 1}, [Input((3, 7), low=0, high=100)], exact=True,
         reference=lambda x, op=op: whole(x, op), dtypes=WHOLE, note="whole numbers",
         exempt={"gradient": "whole numbers have no differences"})
    for op in NUMPY_OF
]
CASES += [
    Case(op, {}, [Input((2, 3), values=[-7, 2, 3, 4, -5, -6])], dtypes=("int32", "int8"),
         exact=True, note="negative whole numbers",
         reference=lambda x, op=op: np.array([want], x.dtype) if (
             want := {"sum": -9, "mean": -1, "max": 4, "min": -7}[op]) else None,
         exempt={"gradient": "whole numbers have no differences"})
    for op in ("sum", "mean", "max", "min")
]
CASES += [
    Case(op, {"axis": 1}, [Input((3, 4))], reference=reference(op, 1), native="auto",
         dtypes=("float16",), exempt={"gradient": "float16 is too coarse for differences"})
    for op in NUMPY_OF
]
CASES += [
    Case("sum", {"axis": 0}, [(0, 3)], reference=lambda x: np.zeros(3), native=False,
         native_backward=False, note="no elements"),
    Case("prod", {"axis": 1}, [(2, 0)], reference=lambda x: np.ones(2), native=False,
         native_backward=False, note="no elements"),
    Case("max", {"axis": 1}, [(0, 3)], reference=lambda x: np.zeros(0), native=False,
         native_backward=False, note="no elements"),
    Case("mean", {"axis": 0}, [(0, 3)], reference=lambda x: np.full(3, np.nan), native=False,
         native_backward=False, note="no elements"),
]
