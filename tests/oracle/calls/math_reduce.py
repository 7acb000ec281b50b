"""Reductions, norms, positions of extremes, running sums, moments, histograms, whole answers."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call, Given

FLOATS = ("float32", "float64", "float16")
NAN, INF = float("nan"), float("inf")
AXES: tuple[dict[str, Any], ...] = (
    {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"axis": 1},
    {"axis": (1,), "exclude": True}, {"axis": (), "keepdims": True})
WHOLE = [[-7, 2, 3], [4, -5, -6]]
HOLES = [[1, NAN, 3], [NAN, NAN, NAN], [0.5, 2, -4]]

CALLS = [
    Call(name, [Array((2, 3, 4), 0.4, 1.5, dtype)], params, (0,), head_scale=4)
    for name in ("sum", "mean", "prod", "max", "min", "nansum", "nanprod")
    for dtype in FLOATS for params in (AXES if dtype == "float32" else AXES[1:3])]
CALLS += [Call(name, [Given(HOLES)], {"axis": 1}) for name in ("sum", "mean", "prod", "max", "min")]
CALLS += [Call(name, [Given(HOLES)], {"axis": axis}, (0,)) for name in ("nansum", "nanprod")
          for axis in (0, 1)]
CALLS += [Call(name, [Given([[1, 3, 3], [2, 2, 0]])], {"axis": 1}, (0,)) for name in ("max", "min")]
CALLS += [Call(name, [Given(WHOLE, dtype)], {"axis": 1})
          for name in ("sum", "mean", "prod", "max", "min", "nansum", "nanprod")
          for dtype in ("int32", "int64", "int8")]
CALLS += [Call(name, [Array((2, 3))], {"axis": 1}, (0,), grad_req="add")
          for name in ("sum", "max", "nansum", "norm", "cumsum")]

NORMS: tuple[dict[str, Any], ...] = (
    {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"axis": (1, 2)},
    {"axis": ()})
CALLS += [
    Call("norm", [Array((2, 3, 4), -2, 2, dtype)], {"ord": order, **params}, (0,), head_scale=4)
    for order in (1, 2) for dtype in FLOATS
    for params in (NORMS if dtype == "float32" else NORMS[1:3])]
CALLS += [
    Call("norm", [Given([[1, -2, 3], [0, 0, 0]])], {"axis": 1}, (0,),
         finite_here="MXNet divides by a norm of 0"),
    Call("norm", [Given([[1e30, 1e30], [NAN, 1], [INF, 1]])], {"axis": 1}),
    *(Call("norm", [Given(WHOLE, dtype)], {"ord": order, "axis": 1},
           differs="" if order == 1 else "MXNet divides whole numbers on the way to the root")
      for order in (1, 2) for dtype in ("int32", "int64", "int8")),
]

EXTREMES = [[1, 3, 3], [NAN, 1, 2], [1, NAN, 5], [-INF, -INF, -INF], [NAN, NAN, NAN]]
for _name in ("argmax", "argmin"):
    CALLS += [Call(_name, [Given(EXTREMES)], params) for params in (
        {}, {"axis": 0}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"keepdims": True})]
    CALLS += [Call(_name, [Array((3, 4, 5), 0, 5, dtype, whole=True)], {"axis": axis}, (0,))
              for dtype in FLOATS for axis in (0, 1, -1)]
    CALLS += [Call(_name, [Given([[1, 5, 2], [7, 0, 7]], dtype)], {"axis": 1})
              for dtype in ("int32", "int64", "int8", "uint8")]
CALLS += [
    Call("argmax_channel", [Array((3, 5))]), Call("argmax_channel", [Array((2, 3, 4))]),
    Call("argmax_channel", [Given([[1, 5, 2], [7, 0, 7]], "int32")]),
    *(Call("cumsum", [Array((2, 3, 4), -1, 1, dtype)], params, (0,))
      for dtype in FLOATS for params in ({}, {"axis": 0}, {"axis": 1}, {"axis": 2})),
    *(Call("cumsum", [Given([[100, 100, 100], [4, 5, 9]], dtype)], {"axis": 1})
      for dtype in ("int32", "int64", "int8", "uint8")),
    Call("cumsum", [Given([[1, 2.5, 3], [4, NAN, 9]])], {"axis": 1}),
    Call("cumsum", [Given([[1, 2.5, 3], [4, 5.5, 9]])], {"dtype": "int32"}, (0,)),
    Call("cumsum", [Array((2, 3), dtype="float16")], {"dtype": "float32", "axis": 1}, (0,)),
    Call("cumsum", [Given([[100, 100, 100]], "int8")], {"dtype": "int32", "axis": 1}),
    *(Call("moments", [Array((2, 3, 4), -1, 2, dtype)], params, (0,), head_scale=4)
      for dtype in FLOATS for params in ({"axes": 1}, {"axes": (0, 2)}, {"axes": (-1,)},
                                         {"axes": (0, 1, 2), "keepdims": True})),
    Call("moments", [Given([[1, 2, 3], [4, 5, 9]], "int32")], {"axes": (1,)}, (0,), head_scale=0),
    *(Call("softmax_cross_entropy", [Array((3, 5), -3, 3, dtype), Given([0, 4, 2], dtype)],
           {}) for dtype in FLOATS),
    Call("softmax_cross_entropy", [Array((3, 5), -3, 3), Given([0.3, 1.7, 4])]),
    Call("softmax_cross_entropy", [Given([[1, -200, 3], [4, 5, 9]]), Given([1, 2])]),
    Call("softmax_cross_entropy", [Array((3, 5), -3, 3), Given([0, 4, 2])], {}, (0,)),
    Call("softmax_cross_entropy", [Array((3, 5), -3, 3), Given([-1, 4, 7])], {}, (0,),
         differs="MXNet reads beyond the array"),
    *(Call("all_finite", [Given(values, dtype)]) for dtype in FLOATS
      for values in ([1, 2], [1, NAN], [INF, 1])),
    Call("multi_all_finite", [Given([1]), Given([2, NAN])], {"num_arrays": 2}),
    Call("multi_all_finite", [Given([1]), Given([[2, 3]])], {"num_arrays": 2}),
    *(Call("contrib.allclose", [Given(a, dtype), Given(b, dtype)], params)
      for dtype in FLOATS for a, b, params in (
          ([1, 2], [1, 2], {}), ([1, 2], [1, 2.25], {}), ([1, 2], [1, 2.25], {"rtol": 0.2}),
          ([1, NAN], [1, NAN], {}), ([1, NAN], [1, NAN], {"equal_nan": False}),
          ([1, INF], [1, INF], {}), ([1, 2], [1, 2.25], {"atol": 0.3}))),
    Call("contrib.allclose", [Given([INF, 1]), Given([-INF, 1])],
         differs="MXNet finds two infinities of other signs close"),
    Call("_internal._histogram", [Given([1, 2, 3, 3.5, 0, NAN, -1]), Given([0, 1, 3])]),
    Call("_internal._histogram", [Given([1, 2, 3, 3.5, 0, NAN, -1])],
         {"bin_cnt": 4, "range": (0, 3)}),
    Call("_internal._histogram", [Given([0.1, 0.2, 0.3, 0.7, 0.9999, 1, 0.6])],
         {"bin_cnt": 10, "range": (0, 1)}),
    *(Call("_internal._histogram", [Given([1, 2, 3, 0, 5], dtype)],
           {"bin_cnt": 3, "range": (0, 3)}) for dtype in ("int32", "float64", "float16")),
    Call("_internal._histogram", [Given([1, 2, 3], "int32"), Given([0, 2, 4], "int32")]),
    Call("histogram", [Given([1, 2, 3, 3])], {"bins": 4, "range": (0, 2)}),
    Call("histogram", [Given([1, 2, 3, 3])], {"bins": 4}),
]
