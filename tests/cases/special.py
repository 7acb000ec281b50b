"""gamma and its kin, hard_sigmoid, smooth_l1, quadratic, running sums, positions, norms, losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Reference

FLOATS = ("float32", "float64")
SHAPE = (2, 20, 3, 2)
FIFTH = float(np.float32(0.2))
gamma = np.vectorize(math.gamma, otypes=[float])
lgamma = np.vectorize(math.lgamma, otypes=[float])
erf = np.vectorize(math.erf, otypes=[float])


def erfinv(y: Array) -> Array:
    """By bisection on math.erf."""
    low, high = np.full(y.shape, -7.0), np.full(y.shape, 7.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = erf(middle) < y
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


CASES = [
    *(Case(name, {}, [Input(shape, low=low, high=high)], reference=function, dtypes=dtypes,
           native=name == "erfinv", native_backward=name == "erfinv", rtol={"float16": 8e-3})
      for name, function, low, high in (("gamma", gamma, 0.2, 8), ("gammaln", lgamma, 2.2, 30),
                                        ("erfinv", erfinv, -0.99, 0.99))
      for shape, dtypes in ((SHAPE, FLOATS), ((3, 4), ("float32", "float16")))),
    Case("gamma", {}, [Input((2, 3), values=[-2.5, -0.5, 0.001, 12, 33.5, -7.25])],
         reference=gamma, native=False, native_backward=False, exempt={
             "gradient": "too steep for differences"}, note="far out"),
    Case("gammaln", {}, [Input((2, 3), values=[-2.5, -0.5, 0.001, 12, 1e6, 1.25])],
         reference=lgamma, native=False, native_backward=False, grad_atol=1e-3, note="far out"),
    Case("erfinv", {}, [Input((4,), values=[0.9999, -0.99999, 1e-20, 0.0])],
         reference=lambda y: np.where(np.abs(y) == 1, np.copysign(np.inf, y), erfinv(y)),
         native=True, native_backward=True, exempt={
             "gradient": "too steep for differences"}, note="the ends"),
    *(Case(name, {}, [Input((4,), values=[np.nan, np.inf, 0.0, -1.0])],
           reference=lambda x, want=want: np.array(want), native=name == "erfinv",
           native_backward=name == "erfinv", exempt={"gradient": "not where it is infinite"},
           note="no numbers")
      for name, want in (("gamma", [np.nan, np.inf, np.inf, np.nan]),
                         ("gammaln", [np.nan, np.inf, np.inf, np.inf]),
                         ("erfinv", [np.nan, np.nan, 0, -np.inf]))),
    *(Case(name, {}, [Input((3,), dtype="int32", values=[1, 3, 10])], dtypes=("float32",),
           reference=lambda x, want=want: np.array(want), native=False, note="integers")
      for name, want in (("gamma", [1, 2, 362880]), ("gammaln", [0, 0, 12]),
                         ("erfinv", [-2**31, 0, 0]))),
    Case("hard_sigmoid", {}, [Input((3, 4), low=-4, high=4)], native=True,
         native_backward=True, dtypes=(*FLOATS, "float16"), exempt={},
         reference=lambda x: np.clip(FIFTH * x + 0.5, 0, 1),
         gradients=lambda x, dy: dy * FIFTH * (np.abs(x) < 2.5)),
    Case("hard_sigmoid", {"alpha": 0.5, "beta": -0.25}, [Input(SHAPE, low=-4, high=4)],
         reference=lambda x: np.clip(0.5 * x - 0.25, 0, 1), native=True, native_backward=True),
    *(Case("smooth_l1", {"scalar": scalar}, [Input(SHAPE, low=-3, high=3)], native=True,
           reference=lambda x, s=scalar: np.where(
               np.abs(x) > 1 / s**2, np.abs(x) - 0.5 / s**2, 0.5 * s**2 * x * x),
           native_backward=True) for scalar in (1.0, 0.7, 2.0)),
    Case("smooth_l1", {"scalar": 1}, [Input((3,), dtype="int32", values=[-3, 0, 2])],
         reference=lambda x: np.array([2, 0, 1]), dtypes=("float32",), note="integers"),
    Case("_contrib_quadratic", {"a": 0.5, "b": -2, "c": 3}, [(3, 4)], native=False,
         reference=lambda x: 0.5 * x * x - 2 * x + 3, native_backward=False),
    Case("_contrib_quadratic", {"a": 1.5, "b": 2, "c": 3}, [Input((2,), dtype="int32",
                                                                  values=[1, 2])],
         reference=lambda x: np.array([6, 13]), dtypes=("float32",), note="integers"),
]

HOLES = [1.5, np.nan, 3, np.nan, np.nan, np.nan, 0.5, 2, -1.25, 4, 5, 6]
NAN_OF: dict[str, Reference] = {"nansum": np.nansum, "nanprod": np.nanprod}
SLOPES = {
    "nansum": lambda x, dy, y: np.where(np.isnan(x), 0, dy),
    "nanprod": lambda x, dy, y: np.where(np.isnan(x), 0, dy * y / x),
}
CASES += [
    Case(op, {"axis": axis, "keepdims": True}, [Input((2, 3, 2), values=HOLES)], native=False,
         reference=lambda x, f=function, a=axis: f(x, axis=a, keepdims=True),
         gradients=lambda x, dy, op=op, a=axis: SLOPES[op](x, dy, NAN_OF[op](
             x, axis=a, keepdims=True)), native_backward=False, dtypes=FLOATS)
    for op, function in NAN_OF.items() for axis in (0, 1, (0, 2), None)]
CASES += [
    Case(op, {"axis": 0, "exclude": True}, [Input((3, 4), kind="positive")],
         reference=lambda x, f=function: f(x, axis=1), native=False, native_backward=False)
    for op, function in NAN_OF.items()]
CASES += [
    Case(op, {"axis": 1}, [Input((2, 3), low=1, high=100)], dtypes=("int32", "int8"), exact=True,
         reference=lambda x, f=function: f(x, axis=1, dtype=x.dtype), native=False,
         exempt={"gradient": "whole numbers have no differences"}, note="whole numbers")
    for op, function in (("nansum", np.sum), ("nanprod", np.prod))]


def norm(ord: int, axis: Any, keepdims: bool) -> Reference:
    def reference(x: Array) -> Array:
        gone = tuple(range(x.ndim)) if axis in (None, ()) else axis
        made = (np.abs(x).sum(gone, keepdims=keepdims) if ord == 1
                else np.sqrt((x * x).sum(gone, keepdims=keepdims)))
        return np.reshape(made, np.shape(made) or (1,))
    return reference


CASES += [
    Case("norm", {"ord": order, "axis": axis, "keepdims": keepdims}, [Input(shape, kind="away")],
         reference=norm(order, axis, keepdims), native_backward=False)
    for order in (1, 2)
    for shape, axis, keepdims in (
        ((4, 5), None, False), ((4, 5), -1, False), ((12, 9), 0, True), ((2, 3, 8), 1, False),
        (SHAPE, (2, 3), False), (SHAPE, (1, 3), True), (SHAPE, (), False), ((2, 9000), 1, False),
        ((300, 10), 0, False))]
CASES += [
    Case("norm", {"axis": 1}, [Input((4, 2), values=[1e30, 1e30, 1e-30, 1e-30, 0, 0, np.inf, 1])],
         reference=lambda x: np.array([2**0.5 * 1e30, 2**0.5 * 1e-30, 0, np.inf]), dtypes=FLOATS,
         exempt={"gradient": "not where it is infinite"}, note="great and small", atol=0.0),
    Case("norm", {"axis": 1}, [Input((2, 2), values=[1e200, -1e200, 3e-200, 4e-200])],
         reference=lambda x: np.array([2**0.5 * 1e200, 5e-200]), dtypes=("float64",),
         exempt={"gradient": "too steep for differences"}, note="great and small", atol=0.0),
    Case("norm", {"ord": 1}, [Input((2, 3), low=-9, high=9)], dtypes=("int32", "int8"),
         reference=lambda x: np.abs(x).sum(keepdims=True).reshape(1), native=False,
         exempt={"gradient": "whole numbers have no differences"}, note="whole numbers"),
    Case("norm", {"axis": 0, "out_dtype": "float64"}, [Input((3, 4), kind="away")],
         reference=norm(2, 0, False), native=False, native_backward=False, exempt={}),
    Case("norm", {"axis": 0}, [(0, 3)], reference=lambda x: np.zeros(3), native=False,
         native_backward=False, note="no elements"),
]

# ---- positions ----------------------------------------------------------------------------------

ARG_OF = {"argmax": np.argmax, "argmin": np.argmin}


def position(op: str, axis: int | None, keepdims: bool = False) -> Reference:
    def reference(x: Array) -> Array:
        made = ARG_OF[op](x, axis=axis)
        if keepdims:
            return np.reshape(made, [1 if axis in (None, d) or d - x.ndim == axis else n
                                     for d, n in enumerate(x.shape)])
        return np.reshape(made, np.shape(made) or (1,))
    return reference


CASES += [
    Case(op, {"axis": axis, "keepdims": keepdims}, [Input(shape, kind=kind, low=-3, high=3)],
         reference=position(op, axis, keepdims), dtypes=(*FLOATS, "int32"))
    for op in ARG_OF for kind in ("distinct", "ints")
    for shape, axis, keepdims in (
        ((7,), 0, False), ((4, 5), None, False), ((4, 5), None, True), ((4, 5), -1, True),
        ((12, 9), 0, False), ((2, 3, 8), 1, False), ((2, 3, 2), 1, False), ((3, 1300), 1, False),
        ((5, 700), 0, False), ((1, 3, 1), 1, False), ((2, 16, 3, 3), 1, False))]
CASES += [
    Case(op, {"axis": axis}, [Input((5, 3), values=np.array([
        1, 3, 3, np.nan, 1, 2, 1, np.nan, 5, -np.inf, -np.inf, -np.inf, np.nan, np.nan, np.nan]))],
         reference=position(op, axis), note="NaN and infinity", dtypes=(*FLOATS, "float16"))
    for op in ARG_OF for axis in (0, 1)]
WIDE = np.tile([1.0, 2.0, np.nan, 2.0, np.inf, np.nan, 0.0], 9)
CASES += [
    Case(op, {"axis": axis}, [Input((7, 9) if axis == 0 else (1, 63), values=WIDE)],
         reference=position(op, axis), note="NaN in columns and long rows", dtypes=FLOATS)
    for op in ARG_OF for axis in (0, 1)]
CASES += [
    Case("argmax", {"axis": 0}, [Input((128, 2), dtype="int8", values=np.repeat(
        [0, 1], (254, 2)))], dtypes=("float32",), reference=lambda x: np.full(2, 127),
         note="the last place in int8"),
    Case("argmax", {"axis": 1}, [(0, 3)], reference=lambda x: np.zeros(0), native=False,
         note="no rows"),
    Case("argmax_channel", {}, [Input((3, 4), kind="distinct")],
         reference=lambda x: x.argmax(1)),
    Case("argmax_channel", {}, [Input((2, 20, 3, 3), kind="distinct")],
         reference=lambda x: x.argmax(1)),
]

# ---- running sums -------------------------------------------------------------------------------


def sums(axis: int | None) -> Reference:
    return lambda x: np.cumsum(x, axis=axis)


CASES += [
    Case("_np_cumsum", {"axis": axis}, [shape], reference=sums(axis))
    for shape, axis in (((7,), 0), ((4, 5), None), ((4, 5), 1), ((4, 5), 0), ((20, 6), -1),
                        ((5, 600), 0), ((2, 3, 9), 1), ((2, 3, 2), 1), (SHAPE, 1), ((0, 3), 1),
                        ((1, 1), None), ((9, 4, 2), -2))]
CASES += [
    Case("cumsum", {"axis": 1}, [Input((3, 7), low=0, high=100)], exact=True,
         reference=lambda x: np.cumsum(x, axis=1, dtype=x.dtype), note="whole numbers",
         dtypes=("int32", "int64", "int8", "uint8"),
         exempt={"gradient": "whole numbers have no differences"}),
    Case("cumsum", {"axis": 0, "dtype": "float64"}, [Input((3, 4))], reference=sums(0),
         dtypes=("float32", "int32"), native=False, native_backward=False),
    Case("cumsum", {"dtype": "int32"}, [Input((4,), values=[1, 2.5, 3, -0.5])],
         reference=lambda x: np.array([1, 3, 6, 6]), native=False,
         gradients=lambda x, dy: dy[::-1].cumsum()[::-1], note="cut off first"),
    Case("cumsum", {"axis": 0}, [Input((3,), dtype="bool", values=[1, 0, 1])],
         reference=lambda x: np.array([1, 1, 2]), dtypes=("float32",), note="bool"),
]

# ---- moments, losses, answers about whole arrays ------------------------------------------------



def whole_moments(x: Array) -> tuple[Array, Array]:
    cut = np.trunc if x.dtype.kind in "iu" else np.asarray
    mean = cut(x.mean(1, keepdims=True))
    return mean[:, 0], cut(((x - mean)**2).mean(1))


CASES += [
    Case("moments", {"axes": axes, "keepdims": keepdims}, [(3, 4, 2)], native=False,
         native_backward=False, reference=lambda x, a=axes, k=keepdims: tuple(
             np.reshape(m, np.shape(m) or (1,)) for m in (
                 x.mean(axis=a, keepdims=k), x.var(axis=a, keepdims=k))))
    for axes, keepdims in (((0,), False), ((-1, 0), True), ((0, 1, 2), False))]
CASES += [
    Case("moments", {"axes": (1,)}, [Input((2, 3), values=[1, 2, 3, 4, 5, 9])], dtypes=("int32",),
         reference=whole_moments, native=False,
         exempt={"gradient": "whole numbers have no differences"}, note="whole numbers"),
]


def probabilities(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def one_hot(x: Array, t: Array) -> Array:
    return np.arange(x.shape[1]) == np.trunc(t)[:, None]


CASES += [
    Case("softmax_cross_entropy", {}, [Input((4, 5), low=-3, high=3), Input(
        (4,), values=labels)], no_grad={1}, native=False, native_backward=False,
         reference=lambda x, t: -np.log(np.maximum(
             (probabilities(x) * one_hot(x, t)).sum(1), 1e-8)).sum(keepdims=True),
         gradients=lambda x, t, dy: (dy * (probabilities(x) - one_hot(x, t)), None),
         dtypes=(*FLOATS, "float16"), atol={"float16": 4e-2}, note=note)
    for labels, note in (([0, 4, 2, 2], ""), ([0, 4, -1, 7], "beyond"), ([1.7, 0, 1, 1], "cut"))]
FINITE = [1, 2, 3, 4]
CASES += [
    Case(op, {**params}, [Input((2, 2), values=values)] * count, native=False,
         reference=lambda *xs: np.array([float(all(np.isfinite(x).all() for x in xs))]),
         dtypes=(*FLOATS, "float16"))
    for op, params, count in (("all_finite", {}, 1), ("multi_all_finite", {"num_arrays": 1}, 1),
                              ("multi_all_finite", {"num_arrays": 3}, 3))
    for values in (FINITE, [1, np.nan, 2, 3], [1, 2, 3, -np.inf])]
CASES += [
    Case("_contrib_allclose", params, [Input((3,), values=a), Input((3,), values=b)],
         reference=lambda x, y, p=params: np.array(np.allclose(
             x, y, **{"equal_nan": True, **p})), native=False, note=note)
    for a, b, params, note in (
        (FINITE[:3], FINITE[:3], {}, ""), (FINITE[:3], [1, 2, 3.1], {}, "other"),
        (FINITE[:3], [1, 2, 3.1], {"atol": 0.2}, ""), (FINITE[:3], [1, 2, 3.1], {"rtol": 0.1}, ""),
        ([1, np.nan, 2], [1, np.nan, 2], {}, "NaN"),
        ([1, np.nan, 2], [1, np.nan, 2], {"equal_nan": False}, "NaN"),
        ([1, np.inf, 2], [1, np.inf, 2], {}, "infinity"),
        ([1, np.inf, 2], [1, -np.inf, 2], {}, "two infinities"),
        ([1, 1, 2], [1, np.inf, 2], {}, "one infinity"))]
CASES += [
    Case("_histogram", {"bin_cnt": 4, "range": (-1, 1)}, [(5, 6)], native=False,
         reference=lambda x: np.histogram(x, 4, (-1, 1))),
    Case("_histogram", {"bin_cnt": 3, "range": (0, 3)}, [Input((7,), dtype="int32", values=[
        0, 1, 1, 2, 3, 4, -1])], dtypes=("float32",), native=False,
         reference=lambda x: (np.array([1, 2, 2]), np.arange(4)), note="integers"),
    Case("_histogram", {}, [Input((8,), values=[0, 1, 2.5, 3, 4, np.nan, -1, 3.5]), Input(
        (4,), values=[0, 1, 3, 4])], native=False,
         reference=lambda x, edges: (np.array([1, 2, 3]), edges), note="edges"),
]
