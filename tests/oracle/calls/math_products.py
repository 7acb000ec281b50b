"""softmax and its kin, dot, batch_dot."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call, Given

FLOATS = ("float32", "float64", "float16")
# MXNet rounds to float16 what goes into exp, also where the result is a float32
ROUNDED = {("softmin", "float16"): 3e-3}
NAMES = ("softmax", "log_softmax", "softmin")
SETTINGS: tuple[dict[str, Any], ...] = ({}, {"axis": 0}, {"axis": 1}, {"axis": -2},
                                        {"temperature": 2.5}, {"axis": 1, "temperature": 0.5})

CALLS = [
    Call(name, [Array((2, 3, 4), -3, 3, dtype)], params, (0,), head_scale=8,
         atol=ROUNDED.get((name, dtype), 0.0))
    for name in NAMES for dtype in FLOATS
    for params in (SETTINGS if dtype == "float32" else SETTINGS[:2])]
CALLS += [Call(name, [Array((2, 20), -9, 9)], {"axis": 0}, (0,), grad_req="add") for name in NAMES]
CALLS += [Call(name, [Array((3, 4), -3, 3, "float16")], {"dtype": "float32"}, (0,),
               rtol=2e-3) for name in ("softmax", "log_softmax")]
CALLS += [Call("softmax", [Array((3, 4), -3, 3), Given([1, 4, 2], "int32")],
               {"use_length": True, "axis": 1}),
          Call("softmax", [Given([[1e4, -1e4, 0], [88, 89, 90], [-200, 0, 200]])], {}, (0,)),
          Call("log_softmax", [Given([[1e4, -1e4, 0], [88, 89, 90], [-200, 0, 200]])], {}, (0,))]

CALLS += [
    Call("dot", [Array((2, 3), dtype=dtype), Array((3, 4), dtype=dtype, seed=1)], {}, (0, 1))
    for dtype in FLOATS[:2]]
CALLS += [
    Call("dot", [Array(a), Array(b, seed=1)], {"transpose_a": ta, "transpose_b": tb}, (0, 1))
    for a, b, ta, tb in (((3, 2), (3, 4), True, False), ((2, 3), (4, 3), False, True),
                         ((3, 2), (4, 3), True, True), ((2, 3, 4), (4, 5), False, False),
                         ((2, 3), (3, 4, 5), False, False), ((4,), (4,), False, False),
                         ((2, 4), (4,), False, False), ((1, 1), (1, 1), False, False))]
CALLS += [Call("dot", [Array((2, 3)), Array((3, 4), seed=1)], {}, (0, 1), grad_req="add")]
CALLS += [
    Call("batch_dot", [Array(a, dtype=dtype), Array(b, dtype=dtype, seed=1)],
         {"transpose_a": ta, "transpose_b": tb}, (0, 1))
    for dtype in FLOATS[:2]
    for a, b, ta, tb in (((2, 3, 4), (2, 4, 5), False, False), ((2, 4, 3), (2, 4, 5), True, False),
                         ((2, 3, 4), (2, 5, 4), False, True), ((2, 4, 3), (2, 5, 4), True, True))]
